#include <sqlite3.h>

/* sqlite3_db_config is variadic, which Swift cannot call. */
static inline int ws1_sqlite3_set_checkpoint_on_close(sqlite3 *database, int on) {
    return sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, on ? 0 : 1, (int *)0);
}
