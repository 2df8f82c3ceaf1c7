/* SPDX-License-Identifier: Apache-2.0
 * The functions of mpi_calls.h in one ABI. The file that includes this defines
 *   MPI_TABLE, MPI_ABI_NAME            the table and its name
 *   mpi_object, MPI_MEMBER             type of handles; member of mpi_handle
 *   MPI_IN_PLACE_, MPI_ANY_, MPI_FUNNELED_, MPI_SERIALIZED_  constants
 *   object_world, object_byte, object_errors_return          handles
 *   bind_objects(library)              NULL, or a missing name
 */
#include <dlfcn.h>
#include <string.h>

enum { NOTE_TAG = 1, MOST_NAME = 512, MOST_VERSION = 8192 + 8 };

/* Larger than MPI_Status of any ABI. */
typedef struct any_status {
    long long words[16];
} any_status;

/* X(function, parameters) */
#define FUNCTIONS(X)                                                           \
    X(Initialized, (int *))                                                    \
    X(Init_thread, (int *, char ***, int, int *))                              \
    X(Query_thread, (int *))                                                   \
    X(Finalize, (void))                                                        \
    X(Get_library_version, (char *, int *))                                    \
    X(Get_processor_name, (char *, int *))                                     \
    X(Comm_rank, (mpi_object, int *))                                          \
    X(Comm_size, (mpi_object, int *))                                          \
    X(Comm_dup, (mpi_object, mpi_object *))                                    \
    X(Comm_free, (mpi_object *))                                               \
    X(Comm_set_errhandler, (mpi_object, mpi_object))                           \
    X(Iallgather, (const void *, int, mpi_object, void *, int, mpi_object,     \
                   mpi_object, mpi_object *))                                  \
    X(Iallgatherv, (const void *, int, mpi_object, void *, const int *,        \
                    const int *, mpi_object, mpi_object, mpi_object *))        \
    X(Ibcast, (void *, int, mpi_object, int, mpi_object, mpi_object *))        \
    X(Test, (mpi_object *, int *, any_status *))                               \
    X(Isend,                                                                   \
      (const void *, int, mpi_object, int, int, mpi_object, mpi_object *))     \
    X(Iprobe, (int, int, mpi_object, int *, any_status *))                     \
    X(Recv, (void *, int, mpi_object, int, int, mpi_object, any_status *))     \
    X(Abort, (mpi_object, int))                                                \
    X(Error_string, (int, char *, int *))

#define POINTER(name, parameters) static int(*f_##name) parameters;
FUNCTIONS(POINTER)
#undef POINTER

static const char *bind(void *library)
{
    void *address = NULL;
#define BIND(name, parameters)                                                 \
    address = dlsym(library, "MPI_" #name);                                    \
    if (!address)                                                              \
        return "MPI_" #name;                                                   \
    memcpy(&f_##name, &address, sizeof address);
    FUNCTIONS(BIND)
#undef BIND
    return bind_objects(library);
}

static int start(int *level, bool *was_running)
{
    int flag = 0;
    int provided = 0;
    int code = f_Initialized(&flag);
    *was_running = flag != 0;
    if (code == 0)
        code = flag != 0
                   ? f_Query_thread(&provided)
                   : f_Init_thread(NULL, NULL, MPI_SERIALIZED_, &provided);
    *level = provided >= MPI_SERIALIZED_ ? MPI_LEVEL_SERIALIZED
             : provided >= MPI_FUNNELED_ ? MPI_LEVEL_FUNNELED
                                         : 0;
    return code;
}

static int finalize(void)
{
    return f_Finalize();
}

/* The first line up to a comma, with one space for each gap. */
static void take_line(const char *from, char *text, int bytes)
{
    int n = 0;
    for (; *from != '\0' && *from != '\n' && *from != ',' && n + 1 < bytes;
         from++) {
        const bool is_gap = *from == ' ' || *from == '\t';
        if (!is_gap || (n > 0 && text[n - 1] != ' '))
            text[n++] = (char)(is_gap ? ' ' : *from);
    }
    text[n] = '\0';
}

static int version(char *text, int bytes)
{
    static char line[MOST_VERSION];
    int n = 0;
    const int code = f_Get_library_version(line, &n);
    take_line(code == 0 ? line : "", text, bytes);
    return code;
}

static int host(char *text, int bytes)
{
    char name[MOST_NAME] = "";
    int n = 0;
    const int code = f_Get_processor_name(name, &n);
    take_line(name, text, bytes);
    return code;
}

static int world(int *rank, int *size)
{
    const int code = f_Comm_rank(object_world, rank);
    return code != 0 ? code : f_Comm_size(object_world, size);
}

static int duplicate(mpi_handle *made)
{
    mpi_object object;
    int code = f_Comm_dup(object_world, &object);
    if (code == 0)
        code = f_Comm_set_errhandler(object, object_errors_return);
    if (code == 0)
        made->MPI_MEMBER = object;
    return code;
}

static int release(mpi_handle *communicator)
{
    return f_Comm_free(&communicator->MPI_MEMBER);
}

static int gather(void *data, int n, mpi_handle communicator,
                  mpi_handle *request)
{
    return f_Iallgather(MPI_IN_PLACE_, 0, object_byte, data, n, object_byte,
                        communicator.MPI_MEMBER, &request->MPI_MEMBER);
}

static int gather_sizes(void *data, const int *counts, const int *offsets,
                        mpi_handle communicator, mpi_handle *request)
{
    return f_Iallgatherv(MPI_IN_PLACE_, 0, object_byte, data, counts, offsets,
                         object_byte, communicator.MPI_MEMBER,
                         &request->MPI_MEMBER);
}

static int broadcast(void *data, int n, int root, mpi_handle communicator,
                     mpi_handle *request)
{
    return f_Ibcast(data, n, object_byte, root, communicator.MPI_MEMBER,
                    &request->MPI_MEMBER);
}

static int test(mpi_handle *request, bool *is_done)
{
    any_status status;
    int flag = 0;
    const int code = f_Test(&request->MPI_MEMBER, &flag, &status);
    *is_done = flag != 0;
    return code;
}

static int send(const void *data, int n, int to, mpi_handle communicator,
                mpi_handle *request)
{
    return f_Isend(data, n, object_byte, to, NOTE_TAG, communicator.MPI_MEMBER,
                   &request->MPI_MEMBER);
}

static int has(int from, mpi_handle communicator, bool *is_there)
{
    any_status status;
    int flag = 0;
    const int code =
        f_Iprobe(from, NOTE_TAG, communicator.MPI_MEMBER, &flag, &status);
    *is_there = flag != 0;
    return code;
}

static int has_any(mpi_handle communicator, bool *is_there)
{
    return has(MPI_ANY_, communicator, is_there);
}

static int receive(void *data, int n, int from, mpi_handle communicator)
{
    any_status status;
    return f_Recv(data, n, object_byte, from, NOTE_TAG, communicator.MPI_MEMBER,
                  &status);
}

static int abort_all(int code)
{
    return f_Abort(object_world, code);
}

static int error_text(int code, char *text, int bytes)
{
    char line[2 * MOST_NAME] = "";
    int n = 0;
    const int result = f_Error_string(code, line, &n);
    take_line(line, text, bytes);
    return result;
}

const mpi_calls MPI_TABLE = {
    .abi = MPI_ABI_NAME,
    .bind = bind,
    .start = start,
    .finalize = finalize,
    .version = version,
    .host = host,
    .world = world,
    .duplicate = duplicate,
    .release = release,
    .gather = gather,
    .gather_sizes = gather_sizes,
    .broadcast = broadcast,
    .test = test,
    .send = send,
    .has_any = has_any,
    .has = has,
    .receive = receive,
    .abort = abort_all,
    .error_text = error_text,
};
