/* canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file */
/* A singly linked list whose items lie in a fixed array. */
#include "shelf.h"

#include <stddef.h>
#include <string.h>

void shelf_init(struct shelf *shelf)
{
    memset(shelf, 0, sizeof *shelf);
    shelf->head = NULL;
    shelf->tail = NULL;
}

/* The item of that name and the one before it, NULL for what is not there. */
static struct item *find(const struct shelf *shelf, const char *name, struct item **before)
{
    struct item *previous = NULL;
    struct item *item = shelf->head;
    while (item != NULL && strcmp(item->name, name) != 0) {
        previous = item;
        item = item->next;
    }
    if (before != NULL)
        *before = item != NULL ? previous : NULL;
    return item;
}

static struct item *free_place(struct shelf *shelf)
{
    for (int i = 0; i < PLACES; i++)
        if (!shelf->places[i].used)
            return &shelf->places[i];
    return NULL;
}

/* Takes the item out of the chain; its place stays in use. */
static void unlink_item(struct shelf *shelf, struct item *item, struct item *before)
{
    if (before != NULL)
        before->next = item->next;
    else
        shelf->head = item->next;
    item->next = NULL;
}

static void remove_item(struct shelf *shelf, struct item *item, struct item *before)
{
    unlink_item(shelf, item, before);
    item->used = false;
    shelf->count--;
}

enum result shelf_add(struct shelf *shelf, const char *name, int qty)
{
    struct item *item = find(shelf, name, NULL);
    if (item != NULL) {
        if (item->qty + qty > QTY_MAX)
            return TOO_MANY;
        item->qty += qty;
        return OK;
    }
    item = free_place(shelf);
    if (item == NULL)
        return FULL;
    strncpy(item->name, name, NAME_MAX_LEN);
    item->name[NAME_MAX_LEN] = '\0';
    item->qty = qty;
    item->used = true;
    item->next = NULL;
    if (shelf->head == NULL)
        shelf->head = item;
    else
        shelf->tail->next = item;
    shelf->tail = item;
    shelf->count++;
    return OK;
}

enum result shelf_take(struct shelf *shelf, const char *name, int qty)
{
    struct item *before;
    struct item *item = find(shelf, name, &before);
    if (item == NULL)
        return NO_SUCH_PART;
    if (item->qty < qty)
        return TOO_FEW;
    item->qty -= qty;
    if (item->qty == 0)
        remove_item(shelf, item, before);
    return OK;
}

enum result shelf_drop(struct shelf *shelf, const char *name)
{
    struct item *before;
    struct item *item = find(shelf, name, &before);
    if (item == NULL)
        return NO_SUCH_PART;
    remove_item(shelf, item, before);
    return OK;
}

enum result shelf_front(struct shelf *shelf, const char *name)
{
    struct item *before;
    struct item *item = find(shelf, name, &before);
    if (item == NULL)
        return NO_SUCH_PART;
    unlink_item(shelf, item, before);
    item->next = shelf->head;
    shelf->head = item;
    return OK;
}

void shelf_reverse(struct shelf *shelf)
{
    struct item *turned = NULL;
    struct item *item = shelf->head;
    while (item != NULL) {
        struct item *next = item->next;
        item->next = turned;
        turned = item;
        item = next;
    }
    shelf->head = turned;
}

int shelf_qty(const struct shelf *shelf, const char *name)
{
    const struct item *item = find(shelf, name, NULL);
    return item != NULL ? item->qty : 0;
}

int shelf_total(const struct shelf *shelf)
{
    int total = 0;
    for (const struct item *item = shelf->head; item != NULL; item = item->next)
        total += item->qty;
    return total;
}
