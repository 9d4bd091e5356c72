/* Prints the whole VMCS, for a failed entry or a fault of the host. */
#include "hv/vmx/vmx.h"

#include "hv/console.h"

static const struct {
    u16 encoding;
    const char *name;
} fields[] = {
#define FIELD(name, encoding) {encoding, #name},
#include "hv/vmx/vmcs.def"
};

/* Fields whose control this CPU lacks are left out: VMREAD refuses them. */
void vmx_dump(struct vcpu *v)
{
    u64 value;

    print("VMCS at %p, %s\n", (void *)vmx_area(v),
          v->vendor[SLOT_LAUNCHED] ? "launched" : "clear");
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        if (vmread_checked(fields[i].encoding, &value))
            print("  %04x %-28s %016llx\n", fields[i].encoding, fields[i].name,
                  (unsigned long long)value);
}
