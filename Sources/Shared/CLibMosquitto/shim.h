#ifndef CLIBMOSQUITTO_SHIM_H
#define CLIBMOSQUITTO_SHIM_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>

// The part of libmosquitto's interface that the client uses, and the part of OpenSSL's that it needs to check a broker's
// certificate before anything is sent. They are declared here, so that a build needs neither libmosquitto-dev nor
// libssl-dev, and a program without a broker needs no library. The declarations follow mosquitto.h 2.0 (ABI
// libmosquitto.so.1) and OpenSSL 1.1.1 and 3.

// Linux's functions that the Glibc module lacks, or that are variadic.
static inline int libmosquitto_wake_descriptor(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }
static inline void libmosquitto_name_thread(const char *_Nonnull name) { (void)prctl(PR_SET_NAME, name, 0, 0, 0); }

typedef struct mosquitto mosquitto;
typedef struct mqtt5__property mosquitto_property;

typedef struct mosquitto_message {
    int mid;
    char *_Nullable topic;
    void *_Nullable payload;
    int payloadlen;
    int qos;
    bool retain;
} mosquitto_message;

typedef void (*MQConnectCallback)(
    mosquitto *_Nonnull, void *_Nullable, int reason, int flags, const mosquitto_property *_Nullable);
typedef void (*MQDisconnectCallback)(
    mosquitto *_Nonnull, void *_Nullable, int reason, const mosquitto_property *_Nullable);
typedef void (*MQPublishCallback)(
    mosquitto *_Nonnull, void *_Nullable, int mid, int reason, const mosquitto_property *_Nullable);
typedef void (*MQMessageCallback)(
    mosquitto *_Nonnull, void *_Nullable, const mosquitto_message *_Nonnull, const mosquitto_property *_Nullable);
typedef void (*MQSubscribeCallback)(
    mosquitto *_Nonnull, void *_Nullable, int mid, int count, const int *_Nonnull granted,
    const mosquitto_property *_Nullable);
typedef void (*MQLogCallback)(mosquitto *_Nonnull, void *_Nullable, int level, const char *_Nonnull);

/// The functions of one loaded libmosquitto.
typedef struct LibMosquittoFunctions {
    int (*_Nonnull libVersion)(int *_Nullable, int *_Nullable, int *_Nullable);
    int (*_Nonnull libInit)(void);
    mosquitto *_Nullable (*_Nonnull create)(const char *_Nonnull, bool, void *_Nullable);
    void (*_Nonnull destroy)(mosquitto *_Nonnull);
    int (*_Nonnull intOption)(mosquitto *_Nonnull, int, int);
    int (*_Nonnull voidOption)(mosquitto *_Nonnull, int, void *_Nonnull);
    int (*_Nonnull threadedSet)(mosquitto *_Nonnull, bool);
    int (*_Nonnull credentialsSet)(mosquitto *_Nonnull, const char *_Nullable, const char *_Nullable);
    int (*_Nonnull willSet)(
        mosquitto *_Nonnull, const char *_Nonnull, int, const void *_Nullable, int, bool,
        mosquitto_property *_Nullable);
    int (*_Nonnull connect)(
        mosquitto *_Nonnull, const char *_Nonnull, int, int, const char *_Nullable,
        const mosquitto_property *_Nullable);
    int (*_Nonnull disconnect)(mosquitto *_Nonnull, int, const mosquitto_property *_Nullable);
    int (*_Nonnull publish)(
        mosquitto *_Nonnull, int *_Nullable, const char *_Nonnull, int, const void *_Nullable, int, bool,
        const mosquitto_property *_Nullable);
    int (*_Nonnull subscribe)(
        mosquitto *_Nonnull, int *_Nullable, const char *_Nonnull, int, int, const mosquitto_property *_Nullable);
    int (*_Nonnull socket)(mosquitto *_Nonnull);
    bool (*_Nonnull wantWrite)(mosquitto *_Nonnull);
    int (*_Nonnull loopRead)(mosquitto *_Nonnull, int);
    int (*_Nonnull loopWrite)(mosquitto *_Nonnull, int);
    int (*_Nonnull loopMisc)(mosquitto *_Nonnull);
    const char *_Nonnull (*_Nonnull errorText)(int);
    void (*_Nonnull onConnect)(mosquitto *_Nonnull, MQConnectCallback _Nullable);
    void (*_Nonnull onDisconnect)(mosquitto *_Nonnull, MQDisconnectCallback _Nullable);
    void (*_Nonnull onPublish)(mosquitto *_Nonnull, MQPublishCallback _Nullable);
    void (*_Nonnull onMessage)(mosquitto *_Nonnull, MQMessageCallback _Nullable);
    void (*_Nonnull onSubscribe)(mosquitto *_Nonnull, MQSubscribeCallback _Nullable);
    void (*_Nonnull onLog)(mosquitto *_Nonnull, MQLogCallback _Nullable);
    int (*_Nonnull addInt32)(mosquitto_property *_Nullable *_Nonnull, int, uint32_t);
    int (*_Nonnull addString)(mosquitto_property *_Nullable *_Nonnull, int, const char *_Nonnull);
    int (*_Nonnull addPair)(
        mosquitto_property *_Nullable *_Nonnull, int, const char *_Nonnull, const char *_Nonnull);
    int (*_Nonnull addBinary)(mosquitto_property *_Nullable *_Nonnull, int, const void *_Nullable, uint16_t);
    void (*_Nonnull freeProperties)(mosquitto_property *_Nullable *_Nonnull);
    const mosquitto_property *_Nullable (*_Nonnull readInt32)(
        const mosquitto_property *_Nullable, int, uint32_t *_Nonnull, bool);
    const mosquitto_property *_Nullable (*_Nonnull readString)(
        const mosquitto_property *_Nullable, int, char *_Nullable *_Nonnull, bool);
    const mosquitto_property *_Nullable (*_Nonnull readPair)(
        const mosquitto_property *_Nullable, int, char *_Nullable *_Nonnull, char *_Nullable *_Nonnull, bool);
    const mosquitto_property *_Nullable (*_Nonnull readBinary)(
        const mosquitto_property *_Nullable, int, void *_Nullable *_Nonnull, uint16_t *_Nonnull, bool);
} LibMosquittoFunctions;

typedef int (*OSPassphraseCallback)(char *_Nullable, int, int, void *_Nullable);
typedef int (*OSVerifyCallback)(void *_Nonnull storeContext, void *_Nullable argument);

/// The functions of OpenSSL, as libmosquitto itself has them loaded. Its types are opaque here.
typedef struct OpenSSLFunctions {
    const void *_Nonnull (*_Nonnull clientMethod)(void);
    void *_Nullable (*_Nonnull contextNew)(const void *_Nonnull);
    void (*_Nonnull contextFree)(void *_Nonnull);
    long (*_Nonnull contextControl)(void *_Nonnull, int, long, void *_Nullable);
    int (*_Nonnull contextCiphers)(void *_Nonnull, const char *_Nonnull);
    void (*_Nonnull contextVerify)(void *_Nonnull, int, void *_Nullable);
    void (*_Nonnull contextVerifyCallback)(void *_Nonnull, OSVerifyCallback _Nonnull, void *_Nullable);
    int (*_Nonnull contextDefaultPaths)(void *_Nonnull);
    void *_Nullable (*_Nonnull contextStore)(void *_Nonnull);
    void *_Nullable (*_Nonnull contextParameters)(void *_Nonnull);
    int (*_Nonnull contextCertificate)(void *_Nonnull, void *_Nonnull);
    int (*_Nonnull contextKey)(void *_Nonnull, void *_Nonnull);
    int (*_Nonnull contextCheckKey)(void *_Nonnull);
    int (*_Nonnull storeAdd)(void *_Nonnull, void *_Nonnull);
    int (*_Nonnull parameterHost)(void *_Nonnull, const char *_Nonnull, size_t);
    int (*_Nonnull parameterAddress)(void *_Nonnull, const char *_Nonnull);
    int (*_Nonnull verify)(void *_Nonnull);
    void *_Nullable (*_Nonnull verifiedCertificate)(void *_Nonnull);
    int (*_Nonnull verifyError)(void *_Nonnull);
    void (*_Nonnull setVerifyError)(void *_Nonnull, int);
    const char *_Nonnull (*_Nonnull verifyErrorText)(long);
    void *_Nullable (*_Nonnull certificateKey)(const void *_Nonnull);
    int (*_Nonnull keyBytes)(const void *_Nonnull, unsigned char *_Nullable *_Nullable);
    void *_Nullable (*_Nonnull certificateFromDER)(
        void *_Nullable *_Nullable, const unsigned char *_Nullable *_Nonnull, long);
    void (*_Nonnull certificateFree)(void *_Nullable);
    void *_Nullable (*_Nonnull memory)(const void *_Nonnull, int);
    int (*_Nonnull memoryFree)(void *_Nonnull);
    void *_Nullable (*_Nonnull readCertificate)(void *_Nonnull, void *_Nullable, void *_Nullable, void *_Nullable);
    void *_Nullable (*_Nonnull readKey)(
        void *_Nonnull, void *_Nullable, OSPassphraseCallback _Nonnull, void *_Nullable);
    void (*_Nonnull keyFree)(void *_Nullable);
    void (*_Nonnull clearErrors)(void);
} OpenSSLFunctions;

/// Fills in all functions.
/// Returns NULL, or the name of a function that the library lacks; `functions` is then not to be used.
static inline const char *_Nullable libmosquitto_load(
    void *_Nonnull library, LibMosquittoFunctions *_Nonnull functions) {
#define MQ_LOAD(field, name) \
    if (!(*(void **)&functions->field = dlsym(library, #name))) return #name
    MQ_LOAD(libVersion, mosquitto_lib_version);
    MQ_LOAD(libInit, mosquitto_lib_init);
    MQ_LOAD(create, mosquitto_new);
    MQ_LOAD(destroy, mosquitto_destroy);
    MQ_LOAD(intOption, mosquitto_int_option);
    MQ_LOAD(voidOption, mosquitto_void_option);
    MQ_LOAD(threadedSet, mosquitto_threaded_set);
    MQ_LOAD(credentialsSet, mosquitto_username_pw_set);
    MQ_LOAD(willSet, mosquitto_will_set_v5);
    MQ_LOAD(connect, mosquitto_connect_bind_v5);
    MQ_LOAD(disconnect, mosquitto_disconnect_v5);
    MQ_LOAD(publish, mosquitto_publish_v5);
    MQ_LOAD(subscribe, mosquitto_subscribe_v5);
    MQ_LOAD(socket, mosquitto_socket);
    MQ_LOAD(wantWrite, mosquitto_want_write);
    MQ_LOAD(loopRead, mosquitto_loop_read);
    MQ_LOAD(loopWrite, mosquitto_loop_write);
    MQ_LOAD(loopMisc, mosquitto_loop_misc);
    MQ_LOAD(errorText, mosquitto_strerror);
    MQ_LOAD(onConnect, mosquitto_connect_v5_callback_set);
    MQ_LOAD(onDisconnect, mosquitto_disconnect_v5_callback_set);
    MQ_LOAD(onPublish, mosquitto_publish_v5_callback_set);
    MQ_LOAD(onMessage, mosquitto_message_v5_callback_set);
    MQ_LOAD(onSubscribe, mosquitto_subscribe_v5_callback_set);
    MQ_LOAD(onLog, mosquitto_log_callback_set);
    MQ_LOAD(addInt32, mosquitto_property_add_int32);
    MQ_LOAD(addString, mosquitto_property_add_string);
    MQ_LOAD(addPair, mosquitto_property_add_string_pair);
    MQ_LOAD(addBinary, mosquitto_property_add_binary);
    MQ_LOAD(freeProperties, mosquitto_property_free_all);
    MQ_LOAD(readInt32, mosquitto_property_read_int32);
    MQ_LOAD(readString, mosquitto_property_read_string);
    MQ_LOAD(readPair, mosquitto_property_read_string_pair);
    MQ_LOAD(readBinary, mosquitto_property_read_binary);
    return NULL;
}

/// The same for OpenSSL. dlsym(3) also searches the libraries that `library`, a libmosquitto, was linked with, so these
/// are the functions of the very OpenSSL that makes its connections.
static inline const char *_Nullable openssl_load(void *_Nonnull library, OpenSSLFunctions *_Nonnull functions) {
    MQ_LOAD(clientMethod, TLS_client_method);
    MQ_LOAD(contextNew, SSL_CTX_new);
    MQ_LOAD(contextFree, SSL_CTX_free);
    MQ_LOAD(contextControl, SSL_CTX_ctrl);
    MQ_LOAD(contextCiphers, SSL_CTX_set_cipher_list);
    MQ_LOAD(contextVerify, SSL_CTX_set_verify);
    MQ_LOAD(contextVerifyCallback, SSL_CTX_set_cert_verify_callback);
    MQ_LOAD(contextDefaultPaths, SSL_CTX_set_default_verify_paths);
    MQ_LOAD(contextStore, SSL_CTX_get_cert_store);
    MQ_LOAD(contextParameters, SSL_CTX_get0_param);
    MQ_LOAD(contextCertificate, SSL_CTX_use_certificate);
    MQ_LOAD(contextKey, SSL_CTX_use_PrivateKey);
    MQ_LOAD(contextCheckKey, SSL_CTX_check_private_key);
    MQ_LOAD(storeAdd, X509_STORE_add_cert);
    MQ_LOAD(parameterHost, X509_VERIFY_PARAM_set1_host);
    MQ_LOAD(parameterAddress, X509_VERIFY_PARAM_set1_ip_asc);
    MQ_LOAD(verify, X509_verify_cert);
    MQ_LOAD(verifiedCertificate, X509_STORE_CTX_get0_cert);
    MQ_LOAD(verifyError, X509_STORE_CTX_get_error);
    MQ_LOAD(setVerifyError, X509_STORE_CTX_set_error);
    MQ_LOAD(verifyErrorText, X509_verify_cert_error_string);
    MQ_LOAD(certificateKey, X509_get_X509_PUBKEY);
    MQ_LOAD(keyBytes, i2d_X509_PUBKEY);
    MQ_LOAD(certificateFromDER, d2i_X509);
    MQ_LOAD(certificateFree, X509_free);
    MQ_LOAD(memory, BIO_new_mem_buf);
    MQ_LOAD(memoryFree, BIO_free);
    MQ_LOAD(readCertificate, PEM_read_bio_X509);
    MQ_LOAD(readKey, PEM_read_bio_PrivateKey);
    MQ_LOAD(keyFree, EVP_PKEY_free);
    MQ_LOAD(clearErrors, ERR_clear_error);
#undef MQ_LOAD
    return NULL;
}

#endif
