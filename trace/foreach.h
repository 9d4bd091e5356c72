/*
 * FOR_EACH(M, (a, b, c), (d, e, f), ...) expands to M(a, b, c) M(d, e, f) ...
 * for one to eight tuples: how trace.def's field lists are walked.
 */
#ifndef TRACE_FOREACH_H
#define TRACE_FOREACH_H

/* `M tuple` puts the macro's name before the tuple's own parentheses. That
 * FE_CALL scans it once more is for cppcheck's preprocessor. */
#define FE_CALL(call)       call
#define FE_1(M, tuple)      FE_CALL(M tuple)
#define FE_2(M, tuple, ...) FE_CALL(M tuple) FE_1(M, __VA_ARGS__)
#define FE_3(M, tuple, ...) FE_CALL(M tuple) FE_2(M, __VA_ARGS__)
#define FE_4(M, tuple, ...) FE_CALL(M tuple) FE_3(M, __VA_ARGS__)
#define FE_5(M, tuple, ...) FE_CALL(M tuple) FE_4(M, __VA_ARGS__)
#define FE_6(M, tuple, ...) FE_CALL(M tuple) FE_5(M, __VA_ARGS__)
#define FE_7(M, tuple, ...) FE_CALL(M tuple) FE_6(M, __VA_ARGS__)
#define FE_8(M, tuple, ...) FE_CALL(M tuple) FE_7(M, __VA_ARGS__)

/* The tuples push the list of FE_n to the right, so the ninth argument is the
 * one for their number. */
#define FE_NINTH(t1, t2, t3, t4, t5, t6, t7, t8, ninth, ...) ninth
#define FOR_EACH(M, ...)                                                       \
    FE_NINTH(__VA_ARGS__, FE_8, FE_7, FE_6, FE_5, FE_4, FE_3, FE_2, FE_1, )    \
    (M, __VA_ARGS__)

#endif
