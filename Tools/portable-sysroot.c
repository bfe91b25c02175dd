// What the parts of a program that were compiled on Debian 12 need, and Debian 11 does not have.
#include <stdlib.h>

// std::__throw_bad_array_new_length() of GCC 11. Nothing here catches C++ exceptions.
void _ZSt28__throw_bad_array_new_lengthv(void) { abort(); }
