/* Debian 12's Wine has no bcryptprimitives.dll, from which programs made by Rust take their random numbers. Real Windows has one. */
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE to, SIZE_T len)
{
    while (len) {
        ULONG part = len > 0x10000000 ? 0x10000000 : (ULONG)len;
        if (!SystemFunction036(to, part))
            return FALSE;
        to += part;
        len -= part;
    }
    return TRUE;
}
