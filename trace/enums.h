/*
 * The enumerations that event fields use: value and name, once each. Exit
 * kinds, features and path flags have their own tables in hv/.
 */
#ifndef TRACE_ENUMS_H
#define TRACE_ENUMS_H

/*
 * Verdict of a scenario, the worst last. ERROR is Tollgate's or the
 * environment's fault, FAIL the platform's. KNOWN_DEVIATION is never written
 * by the hypervisor: the host tool makes it of a FAIL that a list expects.
 */
#define VERDICTS(V)                                                            \
    V(PASS, "pass")                                                            \
    V(SKIP, "skip")                                                            \
    V(NOT_COVERED, "not-covered")                                              \
    V(KNOWN_DEVIATION, "known-deviation")                                      \
    V(FAIL, "fail")                                                            \
    V(ERROR, "error")
enum verdict {
#define V(name, text) VERDICT_##name,
    VERDICTS(V)
#undef V
        VERDICT_COUNT
};

/* The direction of an access; IN and OUT read as the I/O instructions do. */
#define ACCESSES(A)                                                            \
    A(READ, "read")                                                            \
    A(WRITE, "write")                                                          \
    A(EXECUTE, "execute")                                                      \
    A(IN, "in")                                                                \
    A(OUT, "out")                                                              \
    A(INS, "ins")                                                              \
    A(OUTS, "outs")
enum access {
#define A(name, text) DIR_##name,
    ACCESSES(A)
#undef A
        ACCESS_COUNT
};

/* Event classes: bit n of the trace mask is class n. */
#define TRACE_CLASSES(C)                                                       \
    C(EXIT, "exit")     /* the exit and the entry */                           \
    C(DETAIL, "detail") /* what a handler saw and answered */                  \
    C(RAW, "raw")       /* the vendor's raw information words */               \
    C(RUN, "run")       /* scenarios and verdicts; cannot be masked out */
enum trace_class {
#define C(name, text) CLASS_##name,
    TRACE_CLASSES(C)
#undef C
        CLASS_COUNT
};

#endif
