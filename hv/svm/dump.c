/* Prints the whole VMCB, for a failed entry or a fault of the host. */
#include "hv/svm/svm.h"

#include "hv/console.h"
#include "hv/lib.h"

static const struct {
    u16 offset;
    u8 size; /* 16: struct vmcb_segment */
    const char *name;
} fields[] = {
#define FIELD(type, name, offset)                                              \
    {offset, sizeof(((union vmcb *)0)->name), #name},
#define SEGMENT(name, offset) FIELD(struct vmcb_segment, name, offset)
#include "hv/svm/vmcb.def"
};

void svm_dump(struct vcpu *v)
{
    const union vmcb *b = svm_vmcb(v);

    print("VMCB at %p\n", (const void *)b);
    for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
        const u8 *at = b->bytes + fields[i].offset;
        const struct vmcb_segment *s = (const struct vmcb_segment *)at;
        u64 value = 0;

        if (fields[i].size == sizeof(*s)) {
            print("  %03x %-20s %04x attr %04x limit %08x base %016llx\n",
                  fields[i].offset, fields[i].name, s->selector, s->attr,
                  s->limit, (unsigned long long)s->base);
            continue;
        }
        memcpy(&value, at, fields[i].size);
        print("  %03x %-20s %016llx\n", fields[i].offset, fields[i].name,
              (unsigned long long)value);
    }
}
