// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzz target: operations of lane 2 against lender/atomic_check.c.
 *
 * The input: which capabilities the device has, which interrupt ranges are granted, then
 * operations and what the lender does meanwhile. What the check allows is written to a model
 * of the device's config space.
 *
 * Must hold: nothing is written but bus mastering, the MSI capability, MSI-X control; nothing is on
 * that was switched on before memory was attached; no bus mastering during a reset; while MSI is
 * on, its address is in a granted range, and its data what they must be where that was said; MSI
 * and MSI-X are never on together.
 */
#include "fuzz.h"

#include "../../lender/atomic_check.c"

#define MSI		0x50
#define MSIX		0x80
#define OPERATIONS	256

struct model {
	struct lender_atomic st;
	u8 config[256];
	bool taken;
};

static u16 model_get16(const struct model *m, unsigned int pos)
{
	return get_unaligned_le16(m->config + pos);
}

static void model_write(struct model *m, const struct lender_atomic_write *w)
{
	bool wide = m->st.msi_flags & PCI_MSI_FLAGS_64BIT;

	if (w->pos == PCI_COMMAND)
		MUST(w->size == 2 && w->clear == PCI_COMMAND_MASTER &&
		     !(w->set & ~PCI_COMMAND_MASTER));
	else if (m->st.msix_pos && w->pos == MSIX + PCI_MSIX_FLAGS)
		MUST(w->size == 2 && w->clear == (PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL) &&
		     !(w->set & ~w->clear));
	else if (m->st.msi_pos && w->pos == MSI + PCI_MSI_FLAGS)
		MUST(w->size == 2 && w->clear == (PCI_MSI_FLAGS_ENABLE | PCI_MSI_FLAGS_QSIZE) &&
		     !(w->set & ~w->clear));
	else
		MUST(m->st.msi_pos && w->pos >= MSI + PCI_MSI_ADDRESS_LO &&
		     w->pos + w->size <= MSI + (wide ? 20 : 16));
	if (w->size == 2) {
		u16 v = w->clear == ~0u ? 0 : model_get16(m, w->pos) & ~w->clear;

		put_unaligned_le16(v | w->set, m->config + w->pos);
	} else {
		MUST(w->size == 4);
		put_unaligned_le32(w->set, m->config + w->pos);
	}
}

static bool model_master(const struct model *m)
{
	return model_get16(m, PCI_COMMAND) & PCI_COMMAND_MASTER;
}

static bool model_msi(const struct model *m)
{
	return model_get16(m, MSI + PCI_MSI_FLAGS) & PCI_MSI_FLAGS_ENABLE;
}

static bool model_msix(const struct model *m)
{
	return model_get16(m, MSIX + PCI_MSIX_FLAGS) & PCI_MSIX_FLAGS_ENABLE;
}

static void model_check(const struct model *m)
{
	u64 addr = get_unaligned_le32(m->config + MSI + PCI_MSI_ADDRESS_LO);
	bool found = false;
	unsigned int i;

	MUST(!(model_msi(m) && model_msix(m)));
	MUST(m->st.attached || !(model_master(m) || model_msi(m) || model_msix(m)));
	/* a reset that cannot be done is the end of the lease, which switches it off */
	MUST(!(m->st.resetting && m->st.can_flr && model_master(m)));
	if (!model_msi(m))
		return;
	if (m->st.msi_flags & PCI_MSI_FLAGS_64BIT)
		addr |= (u64)get_unaligned_le32(m->config + MSI + PCI_MSI_ADDRESS_HI) << 32;
	for (i = 0; i < m->st.ranges; i++) {
		unsigned __int128 end = m->st.range[i].start;

		end += m->st.range[i].length;
		found |= addr >= m->st.range[i].start && (unsigned __int128)addr + 4 <= end;
	}
	MUST(found);
	if (m->st.msi_data_must)
		MUST(get_unaligned_le16(m->config + MSI + (m->st.msi_flags & PCI_MSI_FLAGS_64BIT ?
							   PCI_MSI_DATA_64 : PCI_MSI_DATA_32)) ==
		     m->st.msi_data_is);
}

static void model_attach(struct model *m, struct input *in, u8 n)
{
	/* as lender_atomic_attach(): not while the device is at work */
	if (model_master(m) || model_msi(m) || m->taken)
		return;
	m->st.ranges = 0;
	for (n %= DEVLEND_MAP_ENTRIES_MAX + 1; n; n--) {
		struct lender_msi_range *r = &m->st.range[m->st.ranges++];

		r->start = n & 1 ? input_u64(in) : 0xfee00000;
		r->length = n & 1 ? input_u64(in) : 0x100000;
	}
	m->st.attached = true;
}

/* as lender_serve_events(): once, and before MSI or MSI-X is on */
static void model_take(struct model *m, struct input *in, u8 n)
{
	u32 flags = m->st.msix_pos ? DEVLEND_EVENTS_MSIX : m->st.msi_pos ? DEVLEND_EVENTS_MSI : 0;

	if (m->taken || model_msi(m) || model_msix(m) || m->st.resetting)
		return;
	m->taken = true;
	lender_atomic_taken(&m->st, flags, 1 + n % DEVLEND_EVENT_MESSAGES_MAX,
			    input_u64(in) & ~3ull, input_u16(in));
}

static void model_step(struct model *m, struct input *in)
{
	struct lender_atomic_action act;
	bool was_resetting = m->st.resetting;
	u8 op = input_u8(in);
	unsigned int i;
	u32 arg;

	if (op == 0xff) {
		model_attach(m, in, input_u8(in));
		return;
	}
	if (op == 0xfe) {
		/* the device was reset */
		memset(m->config, 0, sizeof(m->config));
		lender_atomic_forget(&m->st);
		m->st.resetting = false;
		return;
	}
	if (op == 0xfd) {
		model_take(m, in, input_u8(in));
		return;
	}
	arg = input_u32(in);
	if (lender_atomic_check(&m->st, op & DEVLEND_CTL_NIBBLE, arg, &act) != DEVLEND_OK)
		return;
	MUST(act.writes <= LENDER_ATOMIC_WRITES_MAX);
	MUST(!act.flr || !was_resetting);
	for (i = 0; i < act.writes; i++)
		model_write(m, &act.write[i]);
	model_check(m);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = { data, size };
	struct model m = { };
	u8 has = input_u8(&in);
	unsigned int n = 0;

	m.st.msi_pos = has & 1 ? MSI : 0;
	m.st.msix_pos = has & 2 ? MSIX : 0;
	m.st.can_flr = has & 4;
	m.st.msi_flags = input_u16(&in);
	while (in.left && n++ < OPERATIONS)
		model_step(&m, &in);
	return 0;
}
