#ifndef CLIBPQ_SHIM_H
#define CLIBPQ_SHIM_H

#include <dlfcn.h>
#include <stddef.h>

// The part of libpq's interface that the client uses, declared here, so that a build needs no libpq-dev and a program
// that has no PostgreSQL configured needs no libpq5. The declarations follow libpq-fe.h of PostgreSQL 15; the library's
// ABI (libpq.so.5) has kept them since PostgreSQL 12.

typedef unsigned int PQOid;
typedef struct pg_conn PGconn;
typedef struct pg_result PGresult;

static const int PQ_CONNECTION_OK = 0;
static const int PQ_CONNECTION_BAD = 1;
static const int PQ_POLLING_FAILED = 0;
static const int PQ_POLLING_READING = 1;
static const int PQ_POLLING_WRITING = 2;
static const int PQ_POLLING_OK = 3;
static const int PQ_RESULT_EMPTY_QUERY = 0;
static const int PQ_RESULT_COMMAND_OK = 1;
static const int PQ_RESULT_TUPLES_OK = 2;
static const int PQ_RESULT_COPY_OUT = 3;
static const int PQ_RESULT_COPY_IN = 4;
static const int PQ_RESULT_COPY_BOTH = 8;
static const int PQ_TRANSACTION_IDLE = 0;
static const int PQ_TRANSACTION_ACTIVE = 1;
static const int PQ_TRANSACTION_OPEN = 2;
static const int PQ_TRANSACTION_FAILED = 3;
static const int PQ_TRANSACTION_UNKNOWN = 4;
static const int PQ_VERBOSITY_DEFAULT = 1;
static const int PQ_VERBOSITY_VERBOSE = 2;

typedef struct PGnotify {
    char *_Nonnull relname;
    int be_pid;
    char *_Nonnull extra;
    struct PGnotify *_Nullable next;
} PGnotify;

typedef struct PQconninfoOption {
    char *_Nullable keyword;
    char *_Nullable envvar;
    char *_Nullable compiled;
    char *_Nullable val;
    char *_Nullable label;
    char *_Nullable dispchar;
    int dispsize;
} PQconninfoOption;

typedef void (*PQnoticeReceiver)(void *_Nullable argument, const PGresult *_Nullable result);

/// The functions of one loaded library.
typedef struct LibPQFunctions {
    PQconninfoOption *_Nullable (*_Nonnull conninfoParse)(const char *_Nonnull, char *_Nullable *_Nullable);
    PQconninfoOption *_Nullable (*_Nonnull conndefaults)(void);
    void (*_Nonnull conninfoFree)(PQconninfoOption *_Nonnull);
    PGconn *_Nullable (*_Nonnull connectStartParams)(
        const char *_Nullable const *_Nonnull, const char *_Nullable const *_Nonnull, int);
    int (*_Nonnull connectPoll)(PGconn *_Nonnull);
    void (*_Nonnull finish)(PGconn *_Nonnull);
    int (*_Nonnull status)(const PGconn *_Nonnull);
    int (*_Nonnull transactionStatus)(const PGconn *_Nonnull);
    char *_Nullable (*_Nonnull errorMessage)(const PGconn *_Nonnull);
    int (*_Nonnull socket)(const PGconn *_Nonnull);
    int (*_Nonnull connectionNeedsPassword)(const PGconn *_Nonnull);
    int (*_Nonnull setErrorVerbosity)(PGconn *_Nonnull, int);
    PQnoticeReceiver _Nullable (*_Nonnull setNoticeReceiver)(
        PGconn *_Nonnull, PQnoticeReceiver _Nonnull, void *_Nullable);
    int (*_Nonnull setnonblocking)(PGconn *_Nonnull, int);
    int (*_Nonnull sendQuery)(PGconn *_Nonnull, const char *_Nonnull);
    int (*_Nonnull sendPrepare)(
        PGconn *_Nonnull, const char *_Nonnull, const char *_Nonnull, int, const PQOid *_Nullable);
    int (*_Nonnull sendQueryPrepared)(
        PGconn *_Nonnull, const char *_Nonnull, int, const char *_Nullable const *_Nullable, const int *_Nullable,
        const int *_Nullable, int);
    int (*_Nonnull flush)(PGconn *_Nonnull);
    int (*_Nonnull isBusy)(PGconn *_Nonnull);
    int (*_Nonnull consumeInput)(PGconn *_Nonnull);
    PGresult *_Nullable (*_Nonnull getResult)(PGconn *_Nonnull);
    PGnotify *_Nullable (*_Nonnull notifies)(PGconn *_Nonnull);
    void (*_Nonnull freemem)(void *_Nullable);
    int (*_Nonnull resultStatus)(const PGresult *_Nullable);
    char *_Nullable (*_Nonnull resultErrorField)(const PGresult *_Nullable, int);
    char *_Nullable (*_Nonnull resultErrorMessage)(const PGresult *_Nullable);
    void (*_Nonnull clear)(PGresult *_Nonnull);
    int (*_Nonnull ntuples)(const PGresult *_Nonnull);
    int (*_Nonnull nfields)(const PGresult *_Nonnull);
    char *_Nullable (*_Nonnull fname)(const PGresult *_Nonnull, int);
    PQOid (*_Nonnull ftype)(const PGresult *_Nonnull, int);
    int (*_Nonnull getisnull)(const PGresult *_Nonnull, int, int);
    int (*_Nonnull getlength)(const PGresult *_Nonnull, int, int);
    char *_Nullable (*_Nonnull getvalue)(const PGresult *_Nonnull, int, int);
    char *_Nullable (*_Nonnull cmdStatus)(PGresult *_Nonnull);
    char *_Nullable (*_Nonnull cmdTuples)(PGresult *_Nonnull);
    int (*_Nonnull isthreadsafe)(void);
    int (*_Nonnull libVersion)(void);
} LibPQFunctions;

/// Fills in all functions.
/// Returns NULL, or the name of a function that the library lacks; `functions` is then not to be used.
static inline const char *_Nullable libpq_load(void *_Nonnull library, LibPQFunctions *_Nonnull functions) {
#define LIBPQ_LOAD(field, name) \
    if (!(*(void **)&functions->field = dlsym(library, #name))) return #name
    LIBPQ_LOAD(conninfoParse, PQconninfoParse);
    LIBPQ_LOAD(conndefaults, PQconndefaults);
    LIBPQ_LOAD(conninfoFree, PQconninfoFree);
    LIBPQ_LOAD(connectStartParams, PQconnectStartParams);
    LIBPQ_LOAD(connectPoll, PQconnectPoll);
    LIBPQ_LOAD(finish, PQfinish);
    LIBPQ_LOAD(status, PQstatus);
    LIBPQ_LOAD(transactionStatus, PQtransactionStatus);
    LIBPQ_LOAD(errorMessage, PQerrorMessage);
    LIBPQ_LOAD(socket, PQsocket);
    LIBPQ_LOAD(connectionNeedsPassword, PQconnectionNeedsPassword);
    LIBPQ_LOAD(setErrorVerbosity, PQsetErrorVerbosity);
    LIBPQ_LOAD(setNoticeReceiver, PQsetNoticeReceiver);
    LIBPQ_LOAD(setnonblocking, PQsetnonblocking);
    LIBPQ_LOAD(sendQuery, PQsendQuery);
    LIBPQ_LOAD(sendPrepare, PQsendPrepare);
    LIBPQ_LOAD(sendQueryPrepared, PQsendQueryPrepared);
    LIBPQ_LOAD(flush, PQflush);
    LIBPQ_LOAD(isBusy, PQisBusy);
    LIBPQ_LOAD(consumeInput, PQconsumeInput);
    LIBPQ_LOAD(getResult, PQgetResult);
    LIBPQ_LOAD(notifies, PQnotifies);
    LIBPQ_LOAD(freemem, PQfreemem);
    LIBPQ_LOAD(resultStatus, PQresultStatus);
    LIBPQ_LOAD(resultErrorField, PQresultErrorField);
    LIBPQ_LOAD(resultErrorMessage, PQresultErrorMessage);
    LIBPQ_LOAD(clear, PQclear);
    LIBPQ_LOAD(ntuples, PQntuples);
    LIBPQ_LOAD(nfields, PQnfields);
    LIBPQ_LOAD(fname, PQfname);
    LIBPQ_LOAD(ftype, PQftype);
    LIBPQ_LOAD(getisnull, PQgetisnull);
    LIBPQ_LOAD(getlength, PQgetlength);
    LIBPQ_LOAD(getvalue, PQgetvalue);
    LIBPQ_LOAD(cmdStatus, PQcmdStatus);
    LIBPQ_LOAD(cmdTuples, PQcmdTuples);
    LIBPQ_LOAD(isthreadsafe, PQisthreadsafe);
    LIBPQ_LOAD(libVersion, PQlibVersion);
#undef LIBPQ_LOAD
    return NULL;
}

#endif
