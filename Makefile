# SPDX-License-Identifier: GPL-2.0-only
#
# make                  build/ksmtrace          make STATIC=1     one file, no shared libraries
# make deps             install what is needed  make ARCH=arm64 bpf  the BPF object alone
# make check            unit and live tests     make check-vm     the kernel matrix in QEMU
# make install          DESTDIR= PREFIX=        make clean
#
# CC=clang, WITH_DEBUGINFO=0 (no libdw, no Capstone: inlined functions cannot be found),
# SANITIZE=address,undefined, WERROR=1, V=1.

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

ifneq ($(V),1)
Q := @
say = @printf '  %-8s%s\n' $(1) $(patsubst $(CURDIR)/%,%,$(2))
endif

HOST_ARCH := $(shell uname -m | sed -e 's/x86_64/x86/' -e 's/aarch64/arm64/' -e 's/arm.*/arm/')
ARCH ?= $(HOST_ARCH)

# bpftool lives in /usr/sbin on some distributions.
export PATH := $(PATH):/usr/sbin:/sbin

# --- what is built ---------------------------------------------------------------------------

SRC := ksmtrace.c $(sort $(wildcard src/*.c))
ifeq ($(WITH_DEBUGINFO),0)
SRC := $(filter-out src/code.c src/dominators.c src/machine_code.c src/debuginfo.c,$(SRC))
endif
LIB_SRC := $(filter-out ksmtrace.c,$(SRC))
LIB_OBJ := $(LIB_SRC:%.c=$(BUILD)/%.o)
BPF_OBJ := $(BUILD)/$(ARCH)/ksmtrace.bpf.o
SKEL := $(BUILD)/ksmtrace.skel.h
UNIT := $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(sort $(wildcard tests/unit/test_*.c)))

# --- libbpf: the submodule when it is checked out, else the system's --------------------------

ifneq ($(wildcard libbpf/src/libbpf.h),)
LIBBPF := $(BUILD)/libbpf/libbpf.a
LIBBPF_CFLAGS := -I$(BUILD)/libbpf/include
LIBBPF_LIBS := $(LIBBPF)
BPF_HEADERS := -I$(BUILD)/libbpf/include
else
LIBBPF :=
LIBBPF_CFLAGS := $(shell $(PKG_CONFIG) --cflags libbpf 2>/dev/null)
LIBBPF_LIBS := -lbpf
BPF_HEADERS := $(LIBBPF_CFLAGS)
PACKAGES += libbpf
endif

PACKAGES += libelf zlib jansson libcap gsl
ifneq ($(WITH_DEBUGINFO),0)
PACKAGES += libdw capstone
endif
ifeq ($(STATIC),1)
PKG_STATIC := --static
LINK_STATIC := -static
endif

CFLAGS ?= -O2 -g
WARN := -Wall -Wextra -Wstrict-prototypes -Wmissing-prototypes -Wno-missing-field-initializers
ifeq ($(WERROR),1)
WARN += -Werror
endif
ifneq ($(SANITIZE),)
SANITIZE_FLAGS := -fsanitize=$(SANITIZE) -fno-omit-frame-pointer -fno-sanitize-recover=all
endif

REVISION := $(shell git describe --always --dirty 2>/dev/null)
ALL_CPPFLAGS = -D_GNU_SOURCE -I. -Isrc -I$(BUILD) -isystem $(BUILD) $(LIBBPF_CFLAGS) \
	-DWITH_DEBUGINFO=$(WITH_DEBUGINFO) -DKSMTRACE_VERSION='"$(VERSION)"' \
	-DPREFIX='"$(PREFIX)"' $(CPPFLAGS)
ALL_CFLAGS = -std=gnu11 $(WARN) $(CFLAGS) $(SANITIZE_FLAGS)
ALL_LDFLAGS = $(LINK_STATIC) $(SANITIZE_FLAGS) $(LDFLAGS)
LIBS = $(LIBBPF_LIBS) $(shell $(PKG_CONFIG) $(PKG_STATIC) --libs $(filter-out libbpf,$(PACKAGES))) -lm

.PHONY: all bpf check check-unit check-live check-vm install clean deps need
all: $(BUILD)/ksmtrace

# --- what must be there: one line for the first thing that is not -------------------------------

# $(call need_tool,command,debian package)
need_tool = command -v $(1) >/dev/null || { echo "ksmtrace: '$(1)' is missing (Debian package $(2)): run 'make deps'" >&2; exit 1; }
# $(call need_pkg,pkg-config name,debian package,minimum version)
need_pkg = $(PKG_CONFIG) --exists '$(1)$(if $(3), >= $(3))' || { echo "ksmtrace: library $(1)$(if $(3), $(3) or newer) is missing (Debian package $(2)): run 'make deps'" >&2; exit 1; }

need:
	@$(call need_tool,$(firstword $(CC)),gcc)
	@$(call need_tool,$(CLANG),clang)
	@$(call need_tool,$(LLVM_STRIP),llvm)
	@$(call need_tool,$(BPFTOOL),bpftool)
	@$(call need_tool,$(PKG_CONFIG),pkg-config)
ifeq ($(LIBBPF),)
	@$(call need_pkg,libbpf,libbpf-dev,1.1)
endif
	@$(call need_pkg,libelf,libelf-dev)
	@$(call need_pkg,zlib,zlib1g-dev)
	@$(call need_pkg,jansson,libjansson-dev)
	@$(call need_pkg,libcap,libcap-dev)
	@$(call need_pkg,gsl,libgsl-dev)
ifneq ($(WITH_DEBUGINFO),0)
	@$(call need_pkg,libdw,libdw-dev)
	@$(call need_pkg,capstone,libcapstone-dev)
endif

need-bpf:
	@$(call need_tool,$(CLANG),clang)
	@$(call need_tool,$(LLVM_STRIP),llvm)
ifeq ($(LIBBPF),)
	@$(call need_tool,$(PKG_CONFIG),pkg-config)
	@$(call need_pkg,libbpf,libbpf-dev,1.1)
endif
.PHONY: need-bpf

deps:
	$(Q)scripts/deps

# --- rules -------------------------------------------------------------------------------------

# Objects depend on the flags they were built with: STATIC=1 or CC=clang rebuilds what it must.
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(CC) $(ALL_CFLAGS) $(subst ','"'"',$(ALL_CPPFLAGS)) $(ALL_LDFLAGS)' | cmp -s - $@ || \
		echo '$(CC) $(ALL_CFLAGS) $(subst ','"'"',$(ALL_CPPFLAGS)) $(ALL_LDFLAGS)' >$@
$(BUILD)/revision.h: FORCE
	@mkdir -p $(@D)
	@echo '#define KSMTRACE_REVISION "$(REVISION)"' | cmp -s - $@ || \
		echo '#define KSMTRACE_REVISION "$(REVISION)"' >$@
.PHONY: FORCE
FORCE:

ifneq ($(LIBBPF),)
$(LIBBPF): $(wildcard libbpf/src/*.[ch]) | need
	$(call say,LIBBPF,$@)
	$(Q)mkdir -p $(BUILD)/libbpf/obj
	$(Q)$(MAKE) -s -C libbpf/src BUILD_STATIC_ONLY=1 OBJDIR=$(CURDIR)/$(BUILD)/libbpf/obj \
		DESTDIR=$(CURDIR)/$(BUILD)/libbpf INCLUDEDIR=/include LIBDIR=/ UAPIDIR=/include \
		CC=$(CC) CFLAGS='-g -O2 -w' install install_uapi_headers
endif

bpf: $(BPF_OBJ)

$(BUILD)/%/ksmtrace.bpf.o: ksmtrace.bpf.c $(LIBBPF) | need-bpf
	$(call say,BPF,$@)
	@mkdir -p $(@D)
	$(Q)$(CLANG) -g -O2 -Wall -Wextra -Wno-unused-parameter $(if $(filter 1,$(WERROR)),-Werror) \
		-target bpf -mcpu=v3 -D__TARGET_ARCH_$* -I. $(BPF_HEADERS) -MMD -MP -c $< -o $@
	$(Q)$(LLVM_STRIP) -g $@

$(SKEL): $(BUILD)/$(HOST_ARCH)/ksmtrace.bpf.o
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name ksmtrace_bpf >$@

$(BUILD)/%.o: %.c $(BUILD)/flags $(LIBBPF) | need
	$(call say,CC,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/src/tracer.o: $(SKEL)
$(BUILD)/src/options.o: $(BUILD)/revision.h

$(BUILD)/libksmtrace.a: $(LIB_OBJ)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(BUILD)/ksmtrace: $(BUILD)/ksmtrace.o $(BUILD)/libksmtrace.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(ALL_LDFLAGS) $^ $(LIBS) -o $@

# --- tests --------------------------------------------------------------------------------------

$(BUILD)/unit/test_%: $(BUILD)/tests/unit/test_%.o $(BUILD)/libksmtrace.a
	$(call say,LINK,$@)
	@mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) $^ $(LIBS) -lcmocka -o $@

check: check-unit check-live

check-unit: $(UNIT)
	$(Q)tests/unit/run $(UNIT)

check-live: $(BUILD)/ksmtrace
	$(Q)tests/live/run $(BUILD)/ksmtrace

check-vm:
	$(Q)$(MAKE) --no-print-directory BUILD=$(BUILD) STATIC=1
	$(Q)KSMTRACE=$(BUILD)/ksmtrace tests/vm/run $(KERNELS)

# --- installing ---------------------------------------------------------------------------------

install: $(BUILD)/ksmtrace
	install -D -m 755 $< $(DESTDIR)$(PREFIX)/bin/ksmtrace
	$(Q)for plan in plans/*.plan; do test -e "$$plan" || continue; \
		install -D -m 644 "$$plan" "$(DESTDIR)$(PREFIX)/share/ksmtrace/$$plan"; done

clean:
	rm -rf $(BUILD)

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
