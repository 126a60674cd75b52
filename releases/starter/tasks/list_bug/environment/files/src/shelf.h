/* canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file */
/* The list of parts on a shelf. */
#ifndef SHELF_H
#define SHELF_H

#include <stdbool.h>

enum { NAME_MAX_LEN = 23, QTY_MAX = 9999, PLACES = 32 };

struct item {
    char name[NAME_MAX_LEN + 1];
    int qty;
    bool used;
    struct item *next;
};

struct shelf {
    struct item places[PLACES];
    struct item *head; /* NULL if the list is empty */
    struct item *tail;
    int count;
};

enum result { OK, NO_SUCH_PART, TOO_FEW, TOO_MANY, FULL };

void shelf_init(struct shelf *shelf);
enum result shelf_add(struct shelf *shelf, const char *name, int qty);
enum result shelf_take(struct shelf *shelf, const char *name, int qty);
enum result shelf_drop(struct shelf *shelf, const char *name);
enum result shelf_front(struct shelf *shelf, const char *name);
void shelf_reverse(struct shelf *shelf);
int shelf_qty(const struct shelf *shelf, const char *name); /* 0 if it is not there */
int shelf_total(const struct shelf *shelf);

#endif
