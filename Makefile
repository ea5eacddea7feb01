# SPDX-License-Identifier: GPL-2.0-only
#
# make                  build/ksmtrace, the program
# make bpf              the BPF object alone; of another machine with ARCH=arm64 or ARCH=x86
# make deps             installs what building and testing needs (apt, dnf or pacman)
# make check            unit tests and live tests (the latter need root and KSM)
# make check-fuzz       fuzzing, FUZZ_SECONDS=60 for each entry point
# make check-build      the rules in this file
# make check-vm         stock kernels in QEMU; KERNELS='6.1-cloud' for some only
# make check-sites      inlined functions in all of those kernels' files
# make lab              kernels that differ only in KSM's hash, built and compared
# make check-lab        a part of that, as a test
# make install          to PREFIX=/usr/local, under DESTDIR=
# make clean            removes build/
#
# CC=clang              another compiler             STATIC=1      no shared libraries
# WITH_DEBUGINFO=0      neither libdw nor Capstone   WERROR=1      warnings are errors
# SANITIZE=address,undefined                         V=1           shows the commands
# BUILD=build           where everything is put      CFLAGS, CPPFLAGS, LDFLAGS: as usual

.DELETE_ON_ERROR:
.SECONDARY:
.SUFFIXES:

VERSION := 0.1.0
PREFIX ?= /usr/local
CLANG ?= clang
BPFTOOL ?= bpftool
LLVM_STRIP ?= llvm-strip
PKG_CONFIG ?= pkg-config
WITH_DEBUGINFO ?= 1
BUILD := build

SILENT := $(findstring s,$(filter-out -%,$(firstword $(MAKEFLAGS))))
ifneq ($(V),1)
Q := @
say = $(if $(SILENT),,@printf '  %-8s%s\n' $(1) '$(patsubst $(CURDIR)/%,%,$(2))')
endif

# bpftool is in a directory for root only on some distributions.
export PATH := $(PATH):/usr/sbin:/sbin

# The machine as libbpf's headers call it. The program has the BPF object of the machine that
# the compiler builds for; ARCH is for `make bpf`.
machine = $(subst x86_64,x86,$(subst aarch64,arm64,$(firstword $(subst -, ,$(1)))))
HOST_ARCH := $(call machine,$(shell $(CC) -dumpmachine 2>/dev/null || uname -m))
BPF_ARCH := $(call machine,$(or $(ARCH),$(HOST_ARCH)))

# --- what is built ------------------------------------------------------------------------------

SRC := $(sort $(wildcard src/*.c))
TEST_SRC := $(sort $(wildcard tests/unit/test_*.c))
ifeq ($(WITH_DEBUGINFO),0)
# Left out: what includes these libraries, and the tests of what decodes code. Other files that
# only those need are compiled all the same; the linker leaves them out of the program.
SRC := $(filter-out $(shell grep -lE '^#include <(capstone/|dwarf|elfutils/)' $(SRC)),$(SRC))
TEST_SRC := $(filter-out $(shell for t in $(TEST_SRC); do $(CC) -MM -MG -Isrc -I. $$t | \
	grep -q 'src/code\.h' && echo $$t; done 2>/dev/null),$(TEST_SRC))
endif
FUZZ_SRC := $(sort $(wildcard tests/fuzz/fuzz_*.c))
OBJ := $(SRC:%.c=$(BUILD)/%.o)
UNIT := $(TEST_SRC:tests/%.c=$(BUILD)/%)
FUZZ := $(FUZZ_SRC:%.c=$(BUILD)/%)
BPF_OBJ := $(BUILD)/$(BPF_ARCH)/ksmtrace.bpf.o
HOST_BPF_OBJ := $(BUILD)/$(HOST_ARCH)/ksmtrace.bpf.o
SKEL := $(BUILD)/ksmtrace.skel.h

# Libraries: pkg-config name:Debian package
LIBRARIES := libelf:libelf-dev zlib:zlib1g-dev jansson:libjansson-dev libcap:libcap-dev \
	gsl:libgsl-dev $(if $(filter-out 0,$(WITH_DEBUGINFO)),libdw:libdw-dev capstone:libcapstone-dev)
PACKAGES := $(foreach l,$(LIBRARIES),$(firstword $(subst :, ,$(l))))

# libbpf is the submodule when it is checked out, else the system's.
ifneq ($(wildcard libbpf/src/libbpf.h),)
LIBBPF := $(BUILD)/libbpf/libbpf.a
LIBBPF_HEADERS := $(BUILD)/libbpf/include/bpf/libbpf.h
LIBBPF_CFLAGS := -I$(BUILD)/libbpf/include
else
LIBBPF_CFLAGS := $(shell $(PKG_CONFIG) --cflags libbpf 2>/dev/null)
LIBBPF_LIBS := -lbpf
endif

# --- how ----------------------------------------------------------------------------------------

CFLAGS ?= -O2 -g
WARN := -Wall -Wextra -Wstrict-prototypes -Wmissing-prototypes -Wno-missing-field-initializers
ifneq ($(SANITIZE),)
SANITIZE_FLAGS := -fsanitize=$(SANITIZE) -fno-omit-frame-pointer -fno-sanitize-recover=all
endif
COMPILE = $(CC) -std=gnu11 $(WARN) $(if $(filter 1,$(WERROR)),-Werror) $(SANITIZE_FLAGS) \
	-D_GNU_SOURCE -DWITH_DEBUGINFO=$(WITH_DEBUGINFO) -Isrc -I. -I$(BUILD) $(LIBBPF_CFLAGS) \
	$(CPPFLAGS) $(CFLAGS)
COMPILE_BPF = $(CLANG) -g -O2 -Wall -Wextra -Wno-unused-parameter $(if $(filter 1,$(WERROR)),-Werror) \
	-target bpf -mcpu=v3 -I. $(LIBBPF_CFLAGS)
LINK = $(CC) $(if $(filter 1,$(STATIC)),-static) $(SANITIZE_FLAGS) $(CFLAGS) $(LDFLAGS)
DEFINES :=
TEST_LIBS :=
LIBS = $(LIBBPF_LIBS) $(shell $(PKG_CONFIG) $(if $(filter 1,$(STATIC)),--static) --libs $(PACKAGES)) -lm

# Of this tree only, not of one that it was unpacked into.
REVISION := $(if $(wildcard .git),$(shell git -c safe.directory='$(CURDIR)' \
	describe --always --dirty 2>/dev/null))

.PHONY: all bpf check check-build check-fuzz check-lab check-live check-sites check-unit \
	check-vm clean deps fuzzers help install lab units FORCE
all: $(BUILD)/ksmtrace

# --- what must be there: one line for the first thing that is not -------------------------------

GOALS := $(filter-out clean deps help,$(or $(MAKECMDGOALS),all))
missing = $(error ksmtrace: $(1) is missing (Debian package $(2)): run 'make deps')
# $(call need_tool,command,package)  $(call need_lib,pkg-config name,package[,minimum version])
need_tool = $(if $(shell PATH='$(PATH)'; command -v '$(1)' 2>/dev/null),,$(call missing,'$(1)',$(2)))
have_lib = $(shell $(PKG_CONFIG) --exists $(1) && echo yes)
need_lib = $(if $(call have_lib,'$(1)$(if $(3), >= $(3))'),,$(call missing,library $(1)$(if $(3), \
	$(3) or newer),$(2)))

ifneq ($(GOALS),)
$(call need_tool,$(CLANG),clang)
$(call need_tool,$(LLVM_STRIP),llvm)
ifneq ($(filter-out bpf,$(GOALS)),)
$(foreach c,$(filter-out -%,$(CC)),$(call need_tool,$(c),$(or $(findstring clang,$(c)),$(findstring ccache,$(c)),gcc)))
$(call need_tool,$(BPFTOOL),bpftool)
$(call need_tool,$(PKG_CONFIG),pkg-config)
$(if $(LIBBPF),,$(call need_lib,libbpf,libbpf-dev,1.1))
$(foreach l,$(if $(call have_lib,$(PACKAGES)),,$(LIBRARIES)),$(call need_lib,$(firstword $(subst :, ,$(l))),$(lastword $(subst :, ,$(l)))))
$(if $(filter check check-unit units,$(GOALS)),$(call need_lib,cmocka,libcmocka-dev))
$(if $(filter check-fuzz fuzzers,$(GOALS)),$(if $(wildcard $(shell $(CLANG) \
	-print-resource-dir)/lib/*/libclang_rt.fuzzer*),,$(call missing,clang's libFuzzer,libclang-rt-dev)))
else ifeq ($(LIBBPF)$(shell $(CLANG) -target bpf $(LIBBPF_CFLAGS) -include bpf/bpf_tracing.h \
		-E -x c /dev/null >/dev/null 2>&1 && echo yes),)
$(call missing,library libbpf 1.1 or newer,libbpf-dev)
endif
endif

deps:
	$(Q)scripts/deps $(if $(SILENT),-q)

help:
	@sed -n '3,/^$$/s/^# \{0,1\}//p' $(firstword $(MAKEFILE_LIST))

# --- rules --------------------------------------------------------------------------------------

define REVISION_H
#define KSMTRACE_VERSION "$(VERSION)"
#define KSMTRACE_REVISION "$(REVISION)"
endef
# These hold what a command was: where that changes, its results are made again.
STAMPS := $(addprefix $(BUILD)/,compile.flags compile-bpf.flags link.flags archive.flags \
	libbpf.flags prefix.flags revision.h)
$(BUILD)/compile.flags: export STAMP = $(COMPILE)
$(BUILD)/compile-bpf.flags: export STAMP = $(COMPILE_BPF)
$(BUILD)/link.flags: export STAMP = $(LINK) $(LIBS)
$(BUILD)/libbpf.flags: export STAMP = $(CC) $(CFLAGS)
$(BUILD)/archive.flags: export STAMP = $(OBJ)
$(BUILD)/prefix.flags: export STAMP = $(PREFIX)
$(BUILD)/revision.h: export STAMP = $(REVISION_H)
$(STAMPS): FORCE
	@test -d $(@D) || mkdir -p $(@D)
	@printf '%s\n' "$$STAMP" | cmp -s - $@ || printf '%s\n' "$$STAMP" >$@
FORCE:

ifneq ($(LIBBPF),)
LIBBPF_MAKE = -s -C libbpf/src BUILD_STATIC_ONLY=1 OBJDIR='$(abspath $(BUILD))/libbpf/obj' \
	DESTDIR='$(abspath $(BUILD))/libbpf' INCLUDEDIR=/include UAPIDIR=/include CC='$(CC)' \
	CFLAGS='$(CFLAGS) -w' $(if $(Q),>/dev/null)
$(LIBBPF_HEADERS): $(wildcard libbpf/src/*.h libbpf/include/uapi/linux/*.h)
	@mkdir -p $(@D)
	$(Q)$(MAKE) install_headers install_uapi_headers NO_PKG_CONFIG=1 $(LIBBPF_MAKE)
	@touch $@
$(LIBBPF): $(wildcard libbpf/src/*.[ch]) $(BUILD)/libbpf.flags
	$(call say,LIBBPF,$@)
	@rm -rf $(@D)/obj
	@mkdir -p $(@D)/obj
	$(Q)$(MAKE) '$(abspath $(BUILD))/libbpf/obj/libbpf.a' $(LIBBPF_MAKE)
	$(Q)cp $(@D)/obj/libbpf.a $@
endif

bpf: $(BPF_OBJ)

$(sort $(BPF_OBJ) $(HOST_BPF_OBJ)): $(BUILD)/%/ksmtrace.bpf.o: ksmtrace.bpf.c \
		$(BUILD)/compile-bpf.flags $(LIBBPF_HEADERS)
	$(call say,BPF,$@)
	@mkdir -p $(@D)
	$(Q)$(COMPILE_BPF) -D__TARGET_ARCH_$* -MMD -MP -c $< -o $@
	$(Q)$(LLVM_STRIP) -g $@

$(SKEL): $(HOST_BPF_OBJ)
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name ksmtrace_bpf >$@

$(BUILD)/%.o: %.c $(BUILD)/compile.flags $(LIBBPF_HEADERS)
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(COMPILE) $(DEFINES) -MMD -MP -c $< -o $@

# What is generated must be there before the first compilation that includes it.
$(BUILD)/src/tracer.o: $(SKEL)
$(BUILD)/src/options.o: $(BUILD)/revision.h
$(BUILD)/src/plan.o: DEFINES = -DPREFIX='"$(PREFIX)"'
$(BUILD)/src/plan.o: $(BUILD)/prefix.flags

$(BUILD)/libksmtrace.a: $(OBJ) $(BUILD)/archive.flags
	@rm -f $@
	$(Q)$(AR) rcs $@ $(OBJ)

$(BUILD)/ksmtrace: $(BUILD)/ksmtrace.o
$(UNIT): $(BUILD)/unit/%: $(BUILD)/tests/unit/%.o
$(UNIT): TEST_LIBS = -lcmocka
$(FUZZ): %: %.o
$(FUZZ): TEST_LIBS = -fsanitize=fuzzer
$(BUILD)/ksmtrace $(UNIT) $(FUZZ): $(BUILD)/libksmtrace.a $(LIBBPF) $(BUILD)/link.flags
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK) $(filter %.o,$^) $(BUILD)/libksmtrace.a $(LIBBPF) $(LIBS) $(TEST_LIBS) -o $@

# --- tests --------------------------------------------------------------------------------------

check: $(UNIT) $(BUILD)/ksmtrace
	$(Q)tests/unit/run $(UNIT)
	$(Q)tests/live/run $(BUILD)/ksmtrace

units: $(UNIT)
check-unit: $(UNIT)
	$(Q)tests/unit/run $(UNIT)

check-live: $(BUILD)/ksmtrace
	$(Q)tests/live/run $<

check-build:
	$(Q)tests/build/run

fuzzers: $(FUZZ)
check-fuzz:
	$(Q)$(MAKE) --no-print-directory BUILD=$(BUILD)/fuzz CC='$(CLANG)' \
		SANITIZE=fuzzer-no-link,address,undefined fuzzers
	$(Q)tests/fuzz/run $(FUZZ_SRC:%.c=$(BUILD)/fuzz/%)

check-vm:
	$(Q)$(MAKE) --no-print-directory BUILD=$(BUILD)/static STATIC=1 all
	$(Q)KSMTRACE=$(BUILD)/static/ksmtrace $(if $(KERNELS),tests/vm/run $(KERNELS),tests/vm/all)

# The same site check on every kernel in tests/vm/kernels: their debug info is 5 GB.
check-sites:
	$(Q)$(MAKE) --no-print-directory BUILD=$(BUILD)/static STATIC=1 all
	$(Q)KSMTRACE=$(BUILD)/static/ksmtrace tests/vm/sites $$(awk '/^[0-9]/ { print $$1 }' tests/vm/kernels)

# Kernels that differ only in KSM's hash: built, measured and compared.
lab:
	$(Q)$(MAKE) --no-print-directory BUILD=$(BUILD)/static STATIC=1 all
	$(Q)KSMTRACE=$(BUILD)/static/ksmtrace lab/run
check-lab:
	$(Q)$(MAKE) --no-print-directory BUILD=$(BUILD)/static STATIC=1 all
	$(Q)KSMTRACE=$(BUILD)/static/ksmtrace lab/check

# --- installing ---------------------------------------------------------------------------------

install: $(BUILD)/ksmtrace
	$(Q)install -D -m 755 $< '$(DESTDIR)$(PREFIX)/bin/ksmtrace'
	$(Q)for plan in plans/*.plan; do test ! -e "$$plan" || \
		install -D -m 644 "$$plan" '$(DESTDIR)$(PREFIX)/share/ksmtrace/'"$$plan" || exit; done

clean:
	rm -rf $(BUILD)

-include $(OBJ:.o=.d) $(BUILD)/ksmtrace.d $(TEST_SRC:%.c=$(BUILD)/%.d) $(FUZZ:=.d) \
	$(sort $(BPF_OBJ:.o=.d) $(HOST_BPF_OBJ:.o=.d))
