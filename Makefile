# Tollgate. `make help` lists the targets. V=1 shows the commands.

ifeq ($(origin CC),default)
CC := gcc
endif
NASM ?= nasm
OBJCOPY ?= objcopy
EFI_INC ?= /usr/include/efi
EFI_LIB ?= /usr/lib
B := build
Q := $(if $(V),,@)
say = $(if $(V),,@printf '  %-7s %s\n' '$(1)' '$(2)')

# ---- what the image is made of ------------------------------------------

BOOT := boot/efi_main.c boot/config.c
HV := hv/main.c hv/run.c hv/handlers.c hv/handle_cr.c hv/handle_insn.c \
      hv/handle_event.c hv/handle_task.c hv/handle_svm.c hv/handle_vmx.c \
      hv/preflight.c hv/smm.c hv/scenario.c hv/judge.c hv/judge_info.c \
      hv/exit.c hv/feature.c hv/insn.c hv/nested.c hv/guest.c hv/mode.c \
      hv/entry.c hv/bench.c hv/dumper.c hv/memory.c hv/paging.c hv/desc.c \
      hv/fault.c hv/vectors.asm hv/simd.asm hv/apic.c hv/ap.c hv/ap_code.asm \
      hv/console.c hv/serial.c hv/format.c hv/lib.c hv/shutdown.c
SVM := hv/svm/ops.c hv/svm/controls.c hv/svm/exit.c hv/svm/nested.c \
       hv/svm/dump.c hv/svm/rules.c hv/svm/check.c hv/svm/entry.asm
VMX := hv/vmx/ops.c hv/vmx/controls.c hv/vmx/exit.c hv/vmx/words.c \
       hv/vmx/nested.c hv/vmx/feature.c hv/vmx/dump.c hv/vmx/rules.c \
       hv/vmx/check.c hv/vmx/entry.asm
TRACE := trace/ring.c trace/wire.c trace/schema.c trace/metadata.c trace/dump.c
SCENARIOS := insn system newer table io bitmap cr dr exception cet debug \
             pagefault reserved priority event init inject delivery nested mode \
             mode_exception mode_switch task entry vmx_insn vmx_operand \
             vmx_apic vmx_misc vmx_ept vmx_iret vmx_ve svm_insn svm_misc \
             svm_npf svm_avic demo bench
GUEST := guest/entry.asm guest/legacy.asm $(SCENARIOS:%=guest/scenarios/%.c)

SRC := $(wildcard $(BOOT) $(HV) $(SVM) $(VMX) $(TRACE) $(GUEST))
OBJ := $(patsubst %,$(B)/image/%.o,$(basename $(SRC)))

# ---- how ----------------------------------------------------------------

WARN := -Wall -Wextra -Werror -Wconversion -Wno-sign-conversion \
        -Wmissing-prototypes -Wstrict-prototypes -Wvla -Wundef
CFLAGS_IMAGE := -std=gnu11 -ffreestanding -fpic -fno-stack-protector \
        -fno-strict-aliasing -mno-red-zone -mgeneral-regs-only \
        -fvisibility=hidden -fshort-wchar -O2 -g -fno-omit-frame-pointer \
        -mno-omit-leaf-frame-pointer -fno-asynchronous-unwind-tables \
        -fcf-protection=none $(WARN) -I.
NO_REORDER := $(if $(findstring clang,$(CC)),,-fno-toplevel-reorder)
CFLAGS_HOST := -std=gnu11 -O2 -g -Wall -Wextra -Werror -D_GNU_SOURCE -I.
LDFLAGS := -nostdlib -pie --no-dynamic-linker -z text -z norelro \
        -z noexecstack --fatal-warnings -T linker.ld
PE_SECTIONS := .text .reloc .rodata .relro .data .guest.text .guest.rodata \
        .guest.data .dynamic .rela

ELF := $(B)/tollgate.elf
EFI := $(B)/esp/EFI/BOOT/BOOTX64.EFI

.PHONY: all deps run preflight nested bench check docs conformance mutate \
        headers format-check lint clean help
.DELETE_ON_ERROR:

all: $(EFI) $(B)/tollgate.asm $(B)/tollgate.sym  ## the image and the host tool

-include tests/unit/tests.mk

$(EFI): $(ELF)
	$(call say,EFI,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(OBJCOPY) $(PE_SECTIONS:%=-j %) --target efi-app-x86_64 \
	    --subsystem=10 $< $@

$(ELF): $(OBJ) linker.ld
	$(call say,LD,$@)
	$(Q)$(LD) $(LDFLAGS) $(EFI_LIB)/crt0-efi-x86_64.o $(OBJ) \
	    $(EFI_LIB)/libgnuefi.a -o $@

$(B)/tollgate.asm: $(ELF)
	$(Q)objdump -d $< >$@
$(B)/tollgate.sym: $(ELF)
	$(Q)nm -n $< >$@

$(B)/image/boot/%.o: CFLAGS_IMAGE += -isystem $(EFI_INC) \
        -isystem $(EFI_INC)/x86_64 -DGNU_EFI_USE_MS_ABI
# At every exit GCC would compute what a handler passes on once for each way to
# get there: more values, registers to save, a frame to build. And Clang would
# build a frame in functions that end in a jump: hv/fault.c finds their caller
# without it.
LEAN := $(if $(findstring clang,$(CC)),-momit-leaf-frame-pointer,-fno-tree-pre)
$(B)/image/hv/%.o: CFLAGS_IMAGE += $(LEAN)
# Scenarios run in the order of their texts, which name only what they need.
$(B)/image/guest/%.o: CFLAGS_IMAGE += -Wno-missing-field-initializers \
        $(NO_REORDER)
$(B)/image/%.o: %.c Makefile
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_IMAGE) -MMD -MP -c $< -o $@

$(B)/image/%.o: %.asm $(B)/asm_offsets.inc Makefile
	$(call say,NASM,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(NASM) -f elf64 -g -F dwarf -Werror -I $(B)/ -MD $(@:.o=.d) $< -o $@

$(B)/asm_offsets.inc: hv/asm_offsets.c Makefile
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_IMAGE) -MMD -MF $(B)/asm_offsets.d -MT $@ -S $< \
	    -o $(B)/asm_offsets.s
	$(Q)sed -n 's/.*"->\([A-Z0-9_]*\) \([0-9]*\)".*/\1 equ \2/p' \
	    $(B)/asm_offsets.s >$@
	$(Q)test -s $@

-include $(OBJ:.o=.d) $(B)/asm_offsets.d

# ---- running ------------------------------------------------------------

PLATFORM ?= qemu-svm
ARGS ?=

RUN := ./run-qemu.sh --platform '$(PLATFORM)'
IMAGE := all $(if $(filter kvm-%,$(PLATFORM)),nested)

# A wrong command line is refused before anything is built. Packages come first
# and the build in a make of its own, which then sees them.
deps:  ## installs the Debian packages that `run` needs
	$(Q)$(RUN) $(ARGS) --check >/dev/null
	$(Q)tools/deps.sh run $(PLATFORM)

run: deps  ## boots it; PLATFORM=bochs-vmx, ARGS='--scenarios cpuid', ...
	$(Q)$(MAKE) --no-print-directory $(IMAGE)
	$(Q)$(RUN) $(ARGS)

preflight: deps  ## can a guest run there at all? PLATFORM=...
	$(Q)$(MAKE) --no-print-directory -s $(IMAGE)
	$(Q)$(RUN) --mode preflight $(ARGS)

nested: $(B)/nested/initramfs.lz4  ## the Linux between, of kvm-svm and kvm-vmx

$(B)/nested/initramfs.lz4: tools/nested/build.sh tools/nested/init.sh
	$(call say,NESTED,$(@D))
	$(Q)tools/nested/build.sh $(@D)

bench:  ## what each exit costs, both vendors side by side
	$(Q)tools/deps.sh run bochs-vmx
	$(Q)tools/deps.sh run qemu-svm
	$(Q)$(MAKE) --no-print-directory all
	$(Q)tests/bench.sh

check:  ## every test; the last line is the sum
	$(Q)tests/check.sh

# ---- checks -------------------------------------------------------------

HEADERS := $(sort $(wildcard */*.h */*/*.h))
SOURCES := $(sort $(wildcard */*.c */*/*.c))

headers:  ## every header compiles alone
	$(Q)for h in $(filter-out tools/% tests/%,$(HEADERS)); do \
	    echo "#include \"$$h\"" | $(CC) $(CFLAGS_IMAGE) -fsyntax-only \
	    -x c - || { echo "$$h does not compile alone" >&2; exit 1; }; done
	$(Q)for h in $(filter tools/% tests/%,$(HEADERS)); do \
	    echo "#include \"$$h\"" | $(CC) $(CFLAGS_HOST) -fsyntax-only \
	    -x c - || { echo "$$h does not compile alone" >&2; exit 1; }; done

format-check:  ## clang-format finds nothing to change
	$(Q)clang-format --dry-run -Werror $(HEADERS) $(SOURCES)

# comparePointers: section bounds are symbols of the linker's.
lint:  ## cppcheck and shellcheck
	$(Q)cppcheck --quiet --error-exitcode=1 --std=c11 --inline-suppr \
	    --enable=warning,portability,performance --suppress=missingInclude \
	    --suppress=missingIncludeSystem --suppress=comparePointers -I. \
	    $(SOURCES)
	$(Q)shellcheck $(wildcard *.sh */*.sh */*/*.sh .ci/run)

docs: $(B)/tollgate  ## the pages made from the tables
	$(Q)$< exits --markdown >docs/exits.md
	$(Q)$< schema --markdown >docs/events.md
	$(Q)tests/deviations.sh >docs/deviations.md

# The platforms of `make check`, in the order of the columns.
PLATFORMS := $(notdir $(sort $(wildcard tests/expected/*)))
conformance: $(B)/tollgate  ## docs/conformance.md, from what the last runs left
	$(Q)$< conformance $(PLATFORMS:%=$(B)/run/%/verdict.json) \
	    >docs/conformance.md

mutate:  ## breaks Tollgate on purpose; each time the suite must notice
	$(Q)tests/mutate.sh

clean:  ## removes build/
	$(Q)rm -rf $(B)

help:
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | \
	    expand -t 18
