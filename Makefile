# SPDX-License-Identifier: GPL-2.0
#
# devlend: PCIe device lending over non-transparent bridges. "make help" lists the targets.
#
# "make modules" builds where it stands, as out-of-tree modules do. All that the rig and the
# checks make goes to build/, and modules for the rig's kernels are built in copies there.

TOP := $(CURDIR)
BUILD := $(TOP)/build
KDIR ?= /lib/modules/$(shell uname -r)/build
NTB_SYMVERS ?=
PYTHON ?= /usr/bin/python3
PYTEST := $(PYTHON) -m pytest -c $(TOP)/tests/pytest.ini
RIG := $(TOP)/tests/rig

.DEFAULT_GOAL := modules

# --- the modules ---------------------------------------------------------------

# The build tree's own word on the NTB bus: y, m, or nothing.
NTB_CONFIG := $(shell sed -n 's/^CONFIG_NTB=//p' $(KDIR)/include/config/auto.conf 2>/dev/null)

KBUILD := $(MAKE) -C $(KDIR) M=$(TOP) DEVLEND_SRC=$(TOP)
ifneq ($(NTB_SYMVERS),)
KBUILD += KBUILD_EXTRA_SYMBOLS=$(abspath $(NTB_SYMVERS))
endif
ifeq ($(NTB_CONFIG),)
# What the kernel's headers would have defined: the NTB modules are somebody's own build.
KBUILD += KCFLAGS="$(KCFLAGS) -DCONFIG_NTB_MODULE=1 -DCONFIG_NTB_MSI=1"
endif

modules modules_install: kernel-usable
	+$(KBUILD) $@

kernel-usable:
	@if [ ! -e "$(KDIR)/Makefile" ]; then \
		echo "devlend: no kernel build tree in $(KDIR): install the kernel's headers, or give KDIR=..." >&2; \
		exit 1; \
	fi
	@if [ -z "$(NTB_CONFIG)" ] && [ -z "$(NTB_SYMVERS)" ]; then \
		echo "devlend: the kernel of $(KDIR) has no CONFIG_NTB: build its drivers/ntb as modules (Documentation/quick-start.rst says how) and give NTB_SYMVERS=<that build>/Module.symvers" >&2; \
		exit 1; \
	fi
	@if [ -n "$(NTB_SYMVERS)" ] && [ ! -r "$(NTB_SYMVERS)" ]; then \
		echo "devlend: NTB_SYMVERS=$(NTB_SYMVERS) cannot be read" >&2; \
		exit 1; \
	fi

# --- installing -------------------------------------------------------------------
# "make modules_install" is for the modules of one kernel; DKMS builds them for each kernel that comes.

VERSION := $(shell sed -n 's/^PACKAGE_VERSION="\(.*\)"/\1/p' dkms.conf)
DKMS_FILES := Makefile Kbuild Kbuild.features dkms.conf README.md LICENSE
DKMS_DIR = $(DESTDIR)/usr/src/devlend-$(VERSION)

# what messages and the manual page send their reader to
DOCS := README.md $(wildcard Documentation/*.rst Documentation/ABI/testing/*)
PREFIX ?= /usr/local
DOCDIR ?= $(PREFIX)/share/doc/devlend

install:
	+$(MAKE) -C tools/devlend install
	for file in $(DOCS); do \
		install -D -m 644 "$$file" "$(DESTDIR)$(DOCDIR)/$${file#Documentation/}" || exit 1; \
	done

install-dkms:
	for file in $(DKMS_FILES) $$(find include common lender borrower -name '*.[ch]' -o -name Kbuild); do \
		case $$file in *.mod.c) continue ;; esac; \
		install -D -m 644 "$$file" "$(DKMS_DIR)/$$file" || exit 1; \
	done

# Debian packages, in build/deb, from a copy: a package's build leaves things in its tree.
deb:
	rm -rf $(BUILD)/deb
	mkdir -p $(BUILD)/deb/src
	tar -c --exclude-vcs --exclude='*.o' --exclude='*.cmd' --exclude='*.ko' --exclude='*.mod*' $(DKMS_FILES) \
		include common lender borrower tools/devlend Documentation debian | tar -x -C $(BUILD)/deb/src
	cd $(BUILD)/deb/src && dpkg-buildpackage -b -us -uc --ignore-builtin-builddeps

# --- the rig --------------------------------------------------------------------

rig:
	$(RIG)/setup.sh check

ntbsim:
	+$(MAKE) -C tools/ntbsim

tool:
	+$(MAKE) -C tools/devlend

modules-%:
	$(RIG)/build-modules.sh $* $(if $(C),C=$(C))

demo:
	$(RIG)/setup.sh demo
	+$(MAKE) --no-print-directory ntbsim modules-6.12
	$(PYTHON) tests/e2e/demo.py

# --- the checks -----------------------------------------------------------------
# Each check is a pytest test, so that pytest's last line counts all of them. Files of tests run two
# at a time: a guest waits for the other, or for its peer, half of its time. What several of them need
# is built before, else two would build it at once.

check: rig
	+$(MAKE) --no-print-directory ntbsim tool modules-6.12 modules-checking
	$(PYTEST) -n 2 --dist loadfile --durations=30 -m 'not long' tests/check tests/e2e

# The tests with two hosts once for each pairing of lender's and borrower's kernel: hours. A pairing that fails ends
# neither the others nor, until all are through, make.
PAIRINGS := $(foreach lender,6.1 6.12 7.x,$(foreach borrower,6.1 6.12 7.x,$(lender)/$(borrower)))
check-matrix: rig
	+$(MAKE) --no-print-directory ntbsim modules-6.1 modules-6.12 modules-7.x
	failed=; for pairing in $(PAIRINGS); do \
		echo "lender/borrower: $$pairing"; \
		DEVLEND_LENDER_KERNEL=$${pairing%/*} DEVLEND_BORROWER_KERNEL=$${pairing#*/} \
			$(PYTEST) -n 2 --dist loadfile -m 'not long and not checking' tests/e2e || failed="$$failed $$pairing"; \
	done; \
	[ -z "$$failed" ] || { echo "failed:$$failed" >&2; exit 1; }

# What takes minutes and finds what is seldom broken: DKMS and packages, reboots, each allocation failing once.
check-long: rig
	+$(MAKE) --no-print-directory ntbsim modules-6.12 modules-checking
	$(PYTEST) -n 2 --dist loadfile --durations=30 -m long tests/check tests/e2e

kunit: modules-checking
	$(PYTEST) tests/check/test_kunit.py

e2e: ntbsim modules-6.12 modules-checking
	$(PYTEST) tests/e2e

lint:
	$(PYTEST) tests/check/test_lint.py

# A hostile peer says a million things, of which make check has 40,000, and leaks are looked for: an hour. Both sides at once,
# each in a guest of its own.
soak-hostile: rig
	+$(MAKE) --no-print-directory ntbsim modules-checking
	DEVLEND_MESSAGES=$${DEVLEND_MESSAGES:-500000} DEVLEND_KMEMLEAK=1 $(PYTEST) -n 2 --dist loadgroup tests/e2e/test_hostile.py

# Half an hour; DEVLEND_SOAK_SEED=N repeats a run, whose seed is among its figures.
SOAK_SECONDS ?= 1800
soak: rig
	+$(MAKE) --no-print-directory ntbsim modules-checking
	DEVLEND_SOAK_S=$(SOAK_SECONDS) DEVLEND_SOAK_SEED=$${DEVLEND_SOAK_SEED:-$$(date +%s)} $(PYTEST) tests/e2e/test_checking.py -k soak

# Each target so long, in seconds; "make -C tests/fuzz minimize" takes what was found into the corpus.
FUZZ_SECONDS ?= 60
fuzz:
	+$(MAKE) -C tests/fuzz run SECONDS=$(FUZZ_SECONDS)

# How fast, beside the same drive local and over NVMe/TCP: a report in build/bench. Nothing fails by a figure.
bench:
	$(RIG)/setup.sh bench
	+$(MAKE) --no-print-directory ntbsim modules-6.12
	$(PYTHON) tests/bench/run.py

# --- the rest -------------------------------------------------------------------

clean:
	@if [ -e "$(KDIR)/Makefile" ]; then $(KBUILD) clean; fi
	rm -rf $(BUILD)

help:
	@echo 'modules          the three kernel modules, for the running kernel, or:'
	@echo '                 KDIR=<kernel build tree> NTB_SYMVERS=<Module.symvers of its NTB drivers>'
	@echo 'modules_install  install them'
	@echo 'tool             the command line tool, build/tool/devlend (libjson-c-dev, libpci-dev)'
	@echo 'install          the tool, its manual page, completions, units, udev rules and documents, below DESTDIR and PREFIX=/usr/local'
	@echo 'install-dkms     the sources of the modules, to where DKMS looks for them'
	@echo 'deb              Debian packages of both, in build/deb'
	@echo 'demo             two virtual hosts: lend an NVMe drive, use it, give it back (root)'
	@echo 'check            everything below, on all supported kernels (root)'
	@echo 'check-long       the tests that are left out of it, since they take minutes'
	@echo 'check-matrix     the tests with two hosts, with each pairing of kernels 6.1, 6.12 and 7.x: hours (root)'
	@echo 'rig              fetch and build what demo and check need, into /var/cache/devlend (root)'
	@echo 'ntbsim           the NTB made of software'
	@echo 'modules-KERNEL   modules for a kernel of the rig: 6.1, 6.12, 7.x, checking; C=2 passes through'
	@echo 'kunit            the unit tests, in a virtual machine'
	@echo 'e2e              the tests with two virtual hosts'
	@echo 'lint             checkpatch, sparse, kernel-doc, shellcheck'
	@echo 'fuzz             the pure code in user space, FUZZ_SECONDS=60 each; with libFuzzer where clang has it'
	@echo 'soak-hostile     a million messages of a peer that means harm, and a search for leaks: an hour'
	@echo 'soak             operators, drives and accidents at random, SOAK_SECONDS=1800 (root)'
	@echo 'bench            a borrowed drive beside the same drive local and over NVMe/TCP: build/bench/report.txt (root)'
	@echo 'clean            remove what was built; the rig stays ("tests/rig/setup.sh clean")'

.PHONY: modules modules_install kernel-usable install install-dkms deb rig ntbsim tool demo check check-long check-matrix kunit e2e lint fuzz bench soak-hostile clean help soak
