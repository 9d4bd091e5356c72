/*
 * Compares what an exit reports in detail, member by member, for the member of
 * union exit_info that its kind has.
 */
#include "hv/judge.h"

#include "hv/vcpu.h"

static void check_io(struct vcpu *v, const union exit_info *want)
{
    const union exit_info *got = &v->exit.info;

    judge_exit(v, "port", want->io.port, got->io.port);
    judge_exit(v, "size", want->io.size, got->io.size);
    judge_exit(v, "direction", want->io.in, got->io.in);
    judge_exit(v, "string", want->io.string, got->io.string);
    judge_exit(v, "rep", want->io.rep, got->io.rep);
    if (!want->io.address_size)
        return;
    judge_exit(v, "address size", want->io.address_size, got->io.address_size);
    judge_exit(v, "segment", want->io.segment, got->io.segment);
}

/* The register counts for MOV alone; what LMSW loads is in a register or in
 * memory, and known beforehand on VT-x only. */
static void check_cr(struct vcpu *v, const union exit_info *want)
{
    const union exit_info *got = &v->exit.info;

    judge_exit(v, "cr", want->cr.nr, got->cr.nr);
    judge_exit(v, "instruction", want->cr.insn, got->cr.insn);
    if (want->cr.insn == CR_MOV)
        judge_exit(v, "gpr", want->cr.gpr, got->cr.gpr);
    judge_exit(v, "memory operand", want->cr.memory, got->cr.memory);
    judge_exit(v, "address", want->cr.address, got->cr.address);
}

static void check_npf(struct vcpu *v, const union exit_info *want)
{
    const union exit_info *got = &v->exit.info;

    judge_exit(v, "gpa", want->npf.gpa, got->npf.gpa);
    judge_exit(v, "access", want->npf.access, got->npf.access);
    judge_exit(v, "final", want->npf.final, got->npf.final);
    if (got->npf.gla_valid)
        judge_exit(v, "gla", want->npf.gla, got->npf.gla);
}

static void check_task(struct vcpu *v, const union exit_info *want)
{
    const union exit_info *got = &v->exit.info;

    judge_exit(v, "selector", want->task.selector, got->task.selector);
    judge_exit(v, "source", want->task.source, got->task.source);
    judge_exit(v, "rf", want->task.rf, got->task.rf);
    judge_exit(v, "has error", want->task.has_error, got->task.has_error);
    judge_exit(v, "error", want->task.error, got->task.error);
}

void judge_info(struct vcpu *v, const union exit_info *want)
{
    const union exit_info *got = &v->exit.info;

    switch (exit_rows[v->exit.kind].detail) {
    case DETAIL_cr:
        check_cr(v, want);
        break;
    case DETAIL_dr:
        judge_exit(v, "dr", want->dr.nr, got->dr.nr);
        judge_exit(v, "gpr", want->dr.gpr, got->dr.gpr);
        break;
    case DETAIL_msr:
        judge_exit(v, "msr", want->msr.index, got->msr.index);
        break;
    case DETAIL_io:
        check_io(v, want);
        break;
    case DETAIL_exception:
        judge_exit(v, "vector", want->exception.vector, got->exception.vector);
        judge_exit(v, "has error", want->exception.has_error,
                   got->exception.has_error);
        judge_exit(v, "error", want->exception.error, got->exception.error);
        judge_exit(v, "address", want->exception.address,
                   got->exception.address);
        judge_exit(v, "debug conditions", want->exception.debug,
                   got->exception.debug);
        break;
    case DETAIL_npf:
        check_npf(v, want);
        break;
    case DETAIL_invlpg:
        judge_exit(v, "address", want->invlpg.address, got->invlpg.address);
        break;
    case DETAIL_swint:
        judge_exit(v, "vector", want->swint.vector, got->swint.vector);
        break;
    case DETAIL_interrupt:
        judge_exit(v, "vector", want->interrupt.vector, got->interrupt.vector);
        judge_exit(v, "acknowledged", want->interrupt.acknowledged,
                   got->interrupt.acknowledged);
        break;
    case DETAIL_task:
        check_task(v, want);
        break;
    default:
        judge_exit(v, "info", 1, 0); /* the text asks for what there is not */
    }
}
