/* Three small parts of RDMA that say whose they are: a libibverbs with a driver that it loads, and a tool. Each is built
   with -DPART, and the libraries with -DWHOSE="..." for the one that they stand for. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef LIBRARY
const char *whose(void)
{
    char *drivers = getenv("RDMAV_DRIVERS"), path[4096];
    if (!drivers)
        return WHOSE;
    for (char *one = strtok(strdup(drivers), ":"); one; one = strtok(NULL, ":")) {
        snprintf(path, sizeof path, "%s-rdmav34.so", one);
        printf("%s ", dlopen(path, RTLD_NOW) ? strrchr(path, '/') + 1 : dlerror());
    }
    return WHOSE;
}
#endif

#ifdef NEWER
const char *newer(void) { return WHOSE; }
#endif

#ifdef DRIVER
int driver = 1;
#endif

#ifdef TOOL
const char *whose(void);
const char *newer(void);
int main(int count, char **arguments)
{
#ifdef NEEDS_NEWER
    printf("%s ", newer());
#endif
    printf("%s %s\n", whose(), count > 1 ? arguments[1] : "");
    return 0;
}
#endif
