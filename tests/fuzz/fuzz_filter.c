// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzz target: a device whose config space is nonsense, against lender/config_filter.c, and the way
 * of what is told to the borrower and back.
 *
 * The input: a byte that says whether this host can reset the device, then its config space, 256 or
 * 4096 bytes.
 *
 * Must hold: both chains of what is told end; no reset is told that this host would not do; a reply
 * has room for it; the borrower unpacks exactly what was packed.
 */
#include "fuzz.h"

#include "../../borrower/config_image.c"
#include "../../lender/config_filter.c"

static void check_told(const u32 *told, bool resettable)
{
	unsigned int pos, steps = 0;

	if (told[PCI_COMMAND / 4] >> 16 & PCI_STATUS_CAP_LIST)
		for (pos = told[PCI_CAPABILITY_LIST / 4]; pos; pos = told[pos / 4] >> 8 & 0xff) {
			MUST(pos >= PCI_STD_HEADER_SIZEOF && pos < FILTER_STD_BYTES && !(pos % 4));
			MUST(++steps <= FILTER_STD_STEPS);
			MUST(filter_find(filter_std, ARRAY_SIZE(filter_std), told[pos / 4] & 0xff));
			if ((told[pos / 4] & 0xff) == PCI_CAP_ID_EXP && !resettable)
				MUST(!(told[(pos + PCI_EXP_DEVCAP) / 4] & PCI_EXP_DEVCAP_FLR));
		}
	steps = 0;
	for (pos = FILTER_STD_BYTES; pos; pos = PCI_EXT_CAP_NEXT(told[pos / 4])) {
		MUST(pos >= FILTER_STD_BYTES && pos < FILTER_ALL_BYTES);
		MUST(++steps <= FILTER_EXT_STEPS);
	}
	/* nothing of the header but who it is */
	MUST(!(told[PCI_COMMAND / 4] & ~(PCI_STATUS_CAP_LIST << 16)));
	for (pos = PCI_BASE_ADDRESS_0; pos < PCI_SUBSYSTEM_VENDOR_ID; pos += 4)
		MUST(!told[pos / 4]);
	MUST(!told[PCI_ROM_ADDRESS / 4] && !told[PCI_INTERRUPT_LINE / 4]);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	static u32 real[DEVLEND_CONFIG_DWORDS], told[DEVLEND_CONFIG_DWORDS];
	static u8 raw[BORROWER_CONFIG_SIZE];
	__le32 *wire = malloc(DEVLEND_MSG_PAYLOAD_MAX);
	struct input in = { data, size };
	bool resettable = input_u8(&in) & 1;
	int n;

	size = in.left > FILTER_STD_BYTES ? FILTER_ALL_BYTES : FILTER_STD_BYTES;
	input_bytes(&in, real, sizeof(real));
	if (!lender_config_filter(real, size, resettable, told)) {
		check_told(told, resettable);
		n = lender_config_encode(told, wire, DEVLEND_MSG_PAYLOAD_MAX / 4);
		MUST(n >= 0);
		MUST(!borrower_config_decode(wire, n * 4, raw));
		MUST(!memcmp(raw, told, sizeof(raw)));
	}
	/* the packing alone, of anything */
	n = lender_config_encode(real, wire, DEVLEND_MSG_PAYLOAD_MAX / 4);
	if (n != -ENOSPC) {
		MUST(!borrower_config_decode(wire, n * 4, raw));
		MUST(!memcmp(raw, real, sizeof(raw)));
	}
	free(wire);
	return 0;
}
