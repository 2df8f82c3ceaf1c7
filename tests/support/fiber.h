// SPDX-License-Identifier: Apache-2.0
// Threads of an emulated kernel as fibers: each has a stack of its own and runs
// until it leaves. Not for sanitizers, which do not know these stacks.
#ifndef VLY_FIBER_H
#define VLY_FIBER_H

#include <csetjmp>
#include <cstddef>

#include <ucontext.h>

// It must not move once it is prepared: a context points into itself.
struct fiber {
    ucontext_t context;
    jmp_buf at;
    bool is_started;
};

// The first resume calls entry, which never returns. The stack is the caller's
// and outlives the fiber.
void fiber_prepare(fiber *f, void *stack, size_t bytes, void (*entry)(void));
// Runs it until it leaves. Not from a fiber.
void fiber_resume(fiber *f);
// Called by the running fiber: returns to fiber_resume.
void fiber_leave(void);

#endif
