/* SPDX-License-Identifier: Apache-2.0
 * The policy of device memory: random calls beside a model of it that has one
 * array and walks it for everything; then many threads at once, where each
 * block knows whether two use it.
 */
#include "device_fixture.h"

#include <pthread.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/random.h"

enum { KIB = 1024, MIB = 1024 * KIB, N_CLIENTS = 2, N_BLOCKS = 400 };

static uint64_t next_random(uint64_t *at, uint64_t below)
{
    *at += UINT64_C(0x9e3779b97f4a7c15);
    return vly_mix64(*at) % below;
}

/* ---- the model ---------------------------------------------------------- */

typedef enum block_state { FREE, USED, KEPT } block_state;

typedef struct model_block {
    void *memory;
    uint64_t bytes;
    uint64_t age; /* since when it is in its list */
    uint64_t token;
    uint32_t kind;
    uint32_t qos;
    uint32_t client;
    uint32_t holds;
    block_state state;
    bool dropped; /* by the policy: what is compared with expected */
    bool expected;
} model_block;

typedef struct model {
    fixture_device device;
    vly_device_client *clients[N_CLIENTS];
    model_block blocks[N_BLOCKS];
    uint64_t quota;
    uint64_t used;
    uint64_t kept;
    uint64_t now;
    uint64_t evictions;
    uint64_t refusals;
    uint64_t reuses;
    const char *name;
} model;

static uint64_t model_top(const model *m, uint32_t qos)
{
    uint64_t all = m->quota;
    if (qos == 0)
        return all;
    if (m->device.total < all)
        all = m->device.total;
    return all - all / (qos == 1 ? 16 : 8);
}

/* The block of the state with the least age (or the greatest) that fits. */
static model_block *model_find(model *m, block_state state, int of_qos,
                               bool newest, const model_block *like)
{
    model_block *best = NULL;
    for (int i = 0; i < N_BLOCKS; i++) {
        model_block *b = &m->blocks[i];
        if (b->state != state ||
            (of_qos >= 0 &&
             (b->qos != (uint32_t)of_qos || b->token == 0 || b->holds > 0)))
            continue;
        if (like && (b->client != like->client || b->kind != like->kind ||
                     b->bytes != like->bytes))
            continue;
        if (!best || (newest ? b->age > best->age : b->age < best->age))
            best = b;
    }
    return best;
}

static model_block *model_victim(model *m, uint32_t qos)
{
    for (uint32_t c = 3; c-- > qos;) {
        model_block *b = model_find(m, USED, (int)c, false, NULL);
        if (b)
            return b;
    }
    return NULL;
}

static uint64_t model_evictable(const model *m, uint32_t qos)
{
    uint64_t bytes = 0;
    for (int i = 0; i < N_BLOCKS; i++) {
        const model_block *b = &m->blocks[i];
        if (b->state == USED && b->qos >= qos && b->token != 0 && b->holds == 0)
            bytes += b->bytes;
    }
    return bytes;
}

static void model_evict(model *m, model_block *b)
{
    b->expected = true;
    b->state = FREE;
    m->used -= b->bytes;
    m->evictions++;
}

static void model_shrink(model *m, model_block *b)
{
    b->state = FREE;
    m->kept -= b->bytes;
}

static void model_trim(model *m, uint64_t keep)
{
    model_block *b;
    while ((b = model_find(m, KEPT, -1, false, NULL)) != NULL &&
           (m->kept > keep || m->used + m->kept > m->quota))
        model_shrink(m, b);
}

/* true: there is memory. *wanted is charged then. */
static bool model_admit(model *m, const model_block *wanted)
{
    uint64_t top = model_top(m, wanted->qos);
    if (m->used + wanted->bytes > top &&
        m->used + wanted->bytes - model_evictable(m, wanted->qos) > top)
        return false;
    while (m->used + wanted->bytes > top)
        model_evict(m, model_victim(m, wanted->qos));
    while (m->kept > 0 && m->used + m->kept + wanted->bytes > m->quota)
        model_shrink(m, model_find(m, KEPT, -1, false, NULL));
    if (m->used + m->kept + wanted->bytes > m->device.capacity)
        while (m->kept > 0)
            model_shrink(m, model_find(m, KEPT, -1, false, NULL));
    while (m->used + wanted->bytes > m->device.capacity) {
        model_block *victim = model_victim(m, wanted->qos);
        if (!victim)
            return false;
        model_evict(m, victim);
    }
    return true;
}

static bool model_alloc(model *m, const model_block *wanted, bool *reused)
{
    model_block *kept = model_find(m, KEPT, -1, true, wanted);
    *reused = false;
    if (kept && m->used + wanted->bytes <= model_top(m, wanted->qos)) {
        model_shrink(m, kept);
        *reused = true;
        m->reuses++;
    } else if (!model_admit(m, wanted)) {
        m->refusals++;
        return false;
    }
    m->used += wanted->bytes;
    return true;
}

/* ---- the same calls to both --------------------------------------------- */

static void drop(void *arg)
{
    model_block *b = arg;
    b->dropped = true;
}

static void do_alloc(model *m, uint64_t *at, model_block *place)
{
    static const uint64_t sizes[] = {1, 3000, 70000, 100 * KIB, MIB, 3 * MIB};
    vly_error error = VLY_ERROR_INIT;
    uint64_t bytes = sizes[next_random(at, 6)];
    model_block wanted = {.bytes = vly_account_class(bytes),
                          .kind = (uint32_t)next_random(at, 2),
                          .qos = (uint32_t)next_random(at, 3),
                          .client = (uint32_t)next_random(at, N_CLIENTS)};
    bool reused = false;
    uint32_t before = m->device.n_allocs;
    bool there = model_alloc(m, &wanted, &reused);
    vly_status status =
        vly_account_alloc(m->clients[wanted.client], wanted.kind, bytes,
                          wanted.qos, &wanted.memory, &error);
    assert_int_equal(status, there ? VLY_OK : VLY_E_NOMEM);
    assert_int_equal(m->device.n_allocs - before, there && !reused);
    if (!there) {
        assert_true(error.bytes_requested >= bytes);
        return;
    }
    wanted.state = USED;
    wanted.age = ++m->now;
    *place = wanted;
}

static void do_free(model *m, model_block *b)
{
    vly_account_free(m->clients[b->client], b->memory);
    m->used -= b->bytes;
    m->kept += b->bytes;
    b->state = KEPT;
    b->token = 0;
    b->holds = 0;
    b->age = ++m->now;
    model_trim(m, 8 * MIB);
}

static void do_hold(model *m, model_block *b)
{
    vly_error error = VLY_ERROR_INIT;
    vly_device_client *client = m->clients[b->client];
    if (b->token == 0) {
        assert_ok(vly_account_reloadable(client, b->memory, drop, b, &b->token,
                                         &error),
                  error);
        b->age = ++m->now;
    } else if (b->holds == 0) {
        assert_int_equal(vly_account_hold(client, b->memory, b->token), 1);
        assert_int_equal(vly_account_hold(client, b->memory, b->token), 1);
        b->holds = 1;
    } else {
        vly_account_release(client, b->memory, b->token);
        vly_account_release(client, b->memory, b->token);
        vly_account_release(client, b->memory, b->token); /* one too many */
        b->holds = 0;
        b->age = ++m->now;
    }
}

static void compare(const model *m)
{
    vly_device_usage usage = fixture_usage(m->name);
    uint32_t n_blocks = 0;
    for (int i = 0; i < N_BLOCKS; i++) {
        n_blocks += m->blocks[i].state == USED;
        assert_int_equal(m->blocks[i].dropped, m->blocks[i].expected);
    }
    assert_int_equal(usage.used_bytes, m->used);
    assert_int_equal(usage.kept_bytes, m->kept);
    assert_int_equal(usage.n_blocks, n_blocks);
    assert_int_equal(usage.evictions, m->evictions);
    assert_int_equal(usage.refusals, m->refusals);
    assert_int_equal(usage.reuses, m->reuses);
    assert_int_equal(usage.used_by[0] + usage.used_by[1] + usage.used_by[2],
                     m->used);
    assert_int_equal(m->device.in_use, m->used + m->kept);
}

/* A block that is used, from a random place on; NULL: none */
static model_block *any_used(model *m, uint64_t *at)
{
    uint64_t from = next_random(at, N_BLOCKS);
    for (uint64_t i = 0; i < N_BLOCKS; i++)
        if (m->blocks[(from + i) % N_BLOCKS].state == USED)
            return &m->blocks[(from + i) % N_BLOCKS];
    return NULL;
}

static void step(model *m, uint64_t *at)
{
    uint64_t what = next_random(at, 100);
    model_block *used = any_used(m, at);
    if (what < 50) {
        int i = 0;
        while (i < N_BLOCKS && m->blocks[i].state != FREE)
            i++;
        if (i < N_BLOCKS) {
            m->blocks[i] = (model_block){.state = FREE};
            do_alloc(m, at, &m->blocks[i]);
        }
    } else if (what < 70 && used) {
        do_free(m, used);
    } else if (what < 98 && used) {
        do_hold(m, used);
    } else {
        m->quota = (4 + next_random(at, 28)) * MIB;
        assert_int_equal(vly_device_memory_limit(m->name, m->quota, NULL),
                         VLY_OK);
        model_trim(m, 8 * MIB);
    }
}

static void random_calls(void **state)
{
    (void)state;
    static const char *const names[] = {"random:0", "random:1", "random:2"};
    static model m;
    uint64_t live = vly_memory_live();
    vly_device_memory_keep(8 * MIB);
    for (uint64_t k = 0; k < 3; k++) {
        uint64_t at = k;
        memset(&m, 0, sizeof m);
        m.name = names[k];
        m.quota = 20 * MIB;
        m.device.capacity = (k == 0 ? 100 : 16) * MIB;
        m.device.total = 24 * MIB;
        assert_int_equal(vly_device_memory_limit(m.name, m.quota, NULL),
                         VLY_OK);
        for (int i = 0; i < N_CLIENTS; i++)
            m.clients[i] = fixture_open(&m.device, m.name);
        for (int i = 0; i < 20000; i++) {
            step(&m, &at);
            compare(&m);
        }
        print_message("%s: %u evictions, %u refusals, %u reuses\n", m.name,
                      (unsigned)m.evictions, (unsigned)m.refusals,
                      (unsigned)m.reuses);
        assert_true(m.evictions > 200 && m.refusals > 500 && m.reuses > 500);
        for (int i = 0; i < N_BLOCKS; i++)
            if (m.blocks[i].state == USED)
                vly_account_free(m.clients[m.blocks[i].client],
                                 m.blocks[i].memory);
        for (int i = 0; i < N_CLIENTS; i++)
            vly_account_close(m.clients[i]);
        assert_int_equal(m.device.n_live, 0);
    }
    assert_int_equal(vly_memory_live(), live);
}

/* ---- threads ------------------------------------------------------------ */

enum { N_THREADS = 4, N_STEPS = 4000, N_OWN = 8 };

/* A block of a thread. Its memory is its own while it is not reloadable, or
 * held; what drop writes is under the lock of the thread's blocks. */
typedef struct shared_block {
    pthread_mutex_t lock;
    fixture_block *memory; /* NULL: none, or dropped */
    uint64_t token;
} shared_block;

typedef struct worker {
    vly_device_client *client;
    uint64_t seed;
    shared_block own[N_OWN];
    _Atomic uint32_t n_wrong;
    uint32_t n_dropped;
    uint32_t n_used;
} worker;

static void forget(void *arg)
{
    shared_block *own = arg;
    pthread_mutex_lock(&own->lock);
    own->memory = NULL;
    pthread_mutex_unlock(&own->lock);
}

static void use(worker *w, fixture_block *block)
{
    if (atomic_fetch_add(&block->n_users, 1) != 0)
        atomic_fetch_add(&w->n_wrong, 1);
    if (atomic_fetch_sub(&block->n_users, 1) != 1)
        atomic_fetch_add(&w->n_wrong, 1);
    w->n_used++;
}

/* The locks of blocks are held in no call of alloc or free. */
static fixture_block *take(shared_block *own, uint64_t *token)
{
    pthread_mutex_lock(&own->lock);
    fixture_block *memory = own->memory;
    *token = own->token;
    pthread_mutex_unlock(&own->lock);
    return memory;
}

static void load(worker *w, shared_block *own, uint64_t *at)
{
    void *memory = NULL;
    uint64_t token = 0;
    uint64_t bytes = 1 + next_random(at, 2 * MIB);
    uint32_t qos = (uint32_t)next_random(at, 3);
    if (vly_account_alloc(w->client, 0, bytes, qos, &memory, NULL) != VLY_OK)
        return;
    use(w, memory);
    pthread_mutex_lock(&own->lock);
    own->memory = memory;
    if (next_random(at, 2) == 0 &&
        vly_account_reloadable(w->client, memory, forget, own, &token, NULL) !=
            VLY_OK)
        atomic_fetch_add(&w->n_wrong, 1);
    own->token = token;
    pthread_mutex_unlock(&own->lock);
}

static void give(worker *w, shared_block *own)
{
    pthread_mutex_lock(&own->lock);
    uint64_t token = own->token;
    fixture_block *memory = own->memory;
    /* held, it cannot go between here and free */
    if (memory && token != 0 && vly_account_hold(w->client, memory, token) == 0)
        memory = NULL;
    else
        own->memory = NULL;
    pthread_mutex_unlock(&own->lock);
    vly_account_free(w->client, memory);
}

static void *work(void *arg)
{
    worker *w = arg;
    uint64_t at = w->seed;
    for (int i = 0; i < N_STEPS; i++) {
        shared_block *own = &w->own[next_random(&at, N_OWN)];
        uint64_t token;
        fixture_block *memory = take(own, &token);
        if (!memory) {
            load(w, own, &at);
        } else if (next_random(&at, 3) == 0) {
            give(w, own);
        } else if (token == 0) {
            use(w, memory);
        } else if (vly_account_hold(w->client, memory, token)) {
            use(w, memory);
            vly_account_release(w->client, memory, token);
        } else {
            w->n_dropped++;
        }
    }
    for (int i = 0; i < N_OWN; i++)
        give(w, &w->own[i]);
    return NULL;
}

static void many_threads(void **state)
{
    (void)state;
    fixture_device device = {.capacity = 8 * MIB, .total = 8 * MIB};
    worker workers[N_THREADS];
    pthread_t threads[N_THREADS];
    uint32_t n_used = 0;
    memset(workers, 0, sizeof workers);
    vly_device_memory_keep(2 * MIB);
    for (uint32_t i = 0; i < N_THREADS; i++) {
        workers[i].client = fixture_open(&device, "threads:0");
        workers[i].seed = i;
        for (int k = 0; k < N_OWN; k++)
            pthread_mutex_init(&workers[i].own[k].lock, NULL);
    }
    for (uint32_t i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]),
                         0);
    for (uint64_t i = 0; i < 200; i++) { /* quotas change meanwhile */
        vly_device_memory_limit("threads:0", (3 + i % 5) * MIB, NULL);
        (void)fixture_usage("threads:0");
    }
    for (uint32_t i = 0; i < N_THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(workers[i].n_wrong, 0);
        n_used += workers[i].n_used;
    }
    vly_device_usage usage = fixture_usage("threads:0");
    print_message("%u uses, %u evictions, %u refusals, %u reuses\n", n_used,
                  (unsigned)usage.evictions, (unsigned)usage.refusals,
                  (unsigned)usage.reuses);
    assert_true(n_used > N_THREADS * N_STEPS / 16);
    assert_true(usage.evictions > 100);
    assert_int_equal(usage.used_bytes, 0);
    assert_int_equal(usage.n_blocks, 0);
    for (uint32_t i = 0; i < N_THREADS; i++) {
        vly_account_close(workers[i].client);
        for (int k = 0; k < N_OWN; k++)
            pthread_mutex_destroy(&workers[i].own[k].lock);
    }
    assert_int_equal(device.n_live, 0);
    assert_int_equal(device.in_use, 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(random_calls),
    cmocka_unit_test(many_threads),
};

VLY_TEST_MAIN(tests)
