# The host side: build/tollgate, the unit tests, and what both share.
# Included by the root Makefile, from which B, CC, CFLAGS_HOST, Q and say are.

TOOL := tollgate command print record verdict schema exits conformance bench \
        reader render stream text wire_rx decode run trips expect coverage \
        report report_json report_junit
TOOL_SRC := $(TOOL:%=tools/%.c) trace/schema.c trace/metadata.c trace/wire.c \
        hv/format.c hv/exit.c hv/feature.c
TOOL_OBJ := $(TOOL_SRC:%.c=$(B)/host/%.o)

XML_INC ?= /usr/include/libxml2

all: $(B)/tollgate

$(B)/tollgate: $(TOOL_OBJ)
	$(call say,LD,$@)
	$(Q)$(CC) $(CFLAGS_HOST) $^ -ljansson -lxml2 -o $@

$(B)/host/tools/report_junit.o: CFLAGS_HOST += -isystem $(XML_INC)
$(B)/host/%.o: %.c Makefile tests/unit/tests.mk
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_HOST) -MMD -MP -c $< -o $@

# ---- unit tests -----------------------------------------------------------

# What each test links besides itself. All of it is built for the tests alone,
# with sanitizers, so that a read outside a buffer is a failure.
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all
config_test := boot/config.c hv/format.c hv/lib.c trace/schema.c
exit_test := hv/exit.c hv/format.c
feature_test := hv/feature.c hv/format.c
format_test := hv/format.c
insn_test := hv/insn.c
scenario_test := $(wildcard guest/scenarios/*.c) hv/exit.c hv/format.c
svm_test := hv/svm/exit.c hv/svm/controls.c hv/svm/nested.c hv/insn.c \
        hv/exit.c hv/format.c
schema_test := trace/schema.c trace/metadata.c hv/format.c
ring_test := trace/ring.c trace/schema.c tools/decode.c
wire_test := trace/wire.c tools/wire_rx.c
dump_test := trace/dump.c trace/ring.c trace/wire.c trace/schema.c \
        tools/wire_rx.c
decode_test := trace/ring.c trace/schema.c tools/decode.c tools/render.c
text_test := tools/text.c
vmx_rules_test := hv/vmx/rules.c
svm_rules_test := hv/svm/rules.c
stream_test := trace/wire.c tools/stream.c tools/text.c tools/wire_rx.c \
        tools/command.c
verdict_test := trace/ring.c trace/schema.c tools/decode.c tools/render.c \
        tools/run.c tools/expect.c tools/coverage.c tools/report.c \
        tools/command.c hv/exit.c hv/feature.c hv/format.c
trips_test := trace/ring.c trace/schema.c tools/decode.c tools/trips.c \
        tools/command.c hv/exit.c hv/format.c
UNIT := config_test exit_test feature_test format_test insn_test \
        scenario_test svm_test schema_test ring_test wire_test dump_test \
        decode_test text_test stream_test verdict_test vmx_rules_test \
        svm_rules_test trips_test

# Writes synthetic streams for tests/tool.sh.
mkstream := trace/dump.c trace/ring.c trace/wire.c trace/schema.c \
        trace/metadata.c hv/format.c

.PHONY: unit-build unit
unit-build: $(UNIT:%=$(B)/unit/%) $(B)/unit/mkstream

unit: unit-build $(B)/tollgate  ## builds and runs the unit tests
	$(Q)for t in $(UNIT); do $(B)/unit/$$t || exit 1; done
	$(Q)tests/compile_fail.sh
	$(Q)tests/tool.sh

define unit_rule
$$(B)/unit/$(1): $$(B)/san/tests/unit/$(1).o $$($(1):%.c=$$(B)/san/%.o)
	$$(call say,LD,$$@)
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(CC) $$(CFLAGS_HOST) $$(SANITIZE) $$^ -lcmocka -o $$@
UNIT_OBJ += $$(B)/san/tests/unit/$(1).o $$($(1):%.c=$$(B)/san/%.o)
endef
$(foreach t,$(UNIT) mkstream,$(eval $(call unit_rule,$(t))))

$(B)/san/%.o: %.c Makefile tests/unit/tests.mk
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_HOST) $(SANITIZE) -MMD -MP -c $< -o $@

-include $(TOOL_OBJ:.o=.d) $(sort $(UNIT_OBJ:.o=.d))
