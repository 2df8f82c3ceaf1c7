// SPDX-License-Identifier: Apache-2.0
// A fiber is entered once through its context and from then on by longjmp,
// which makes no system call: swapcontext makes two a switch, and a kernel
// switches millions of times.
// Fortified longjmp ends the process when it goes to another stack ("longjmp
// causes uninitialized stack frame"), which is what it is for here.
// Distributions fortify by default, so this file takes the plain one.
#undef _FORTIFY_SOURCE
#include "fiber.h"

static ucontext_t scheduler;
static jmp_buf scheduler_at;
static fiber *running;

void fiber_prepare(fiber *f, void *stack, size_t bytes, void (*entry)(void))
{
    f->is_started = false;
    (void)getcontext(&f->context);
    f->context.uc_stack.ss_sp = stack;
    f->context.uc_stack.ss_size = bytes;
    f->context.uc_link = &scheduler;
    makecontext(&f->context, entry, 0);
}

void fiber_resume(fiber *f)
{
    running = f;
    if (_setjmp(scheduler_at) != 0)
        return;
    if (f->is_started)
        _longjmp(f->at, 1);
    f->is_started = true;
    (void)swapcontext(&scheduler, &f->context);
}

void fiber_leave(void)
{
    if (_setjmp(running->at) == 0)
        _longjmp(scheduler_at, 1);
}
