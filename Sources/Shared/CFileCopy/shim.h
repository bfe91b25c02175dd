#include <sys/types.h>

// glibc declares it in <unistd.h> for _GNU_SOURCE only, which the Glibc module leaves undefined.
ssize_t copy_file_range(int source, off_t *sourceOffset, int target, off_t *targetOffset, size_t length, unsigned int flags);
