/* canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file */
/* Reads commands from standard input and answers them. */
#include "shelf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A quantity as it may be typed, 0 for anything else. */
static int quantity(const char *text)
{
    char *end;
    long value = text != NULL ? strtol(text, &end, 10) : 0;
    return text != NULL && *end == '\0' && value >= 1 && value <= QTY_MAX ? (int)value : 0;
}

static void answer(const struct shelf *shelf, enum result result, const char *name)
{
    switch (result) {
    case OK:
        break;
    case NO_SUCH_PART:
        printf("error: no %s on the shelf\n", name);
        break;
    case TOO_FEW:
        printf("error: only %d of %s\n", shelf_qty(shelf, name), name);
        break;
    case TOO_MANY:
        printf("error: too many of %s\n", name);
        break;
    case FULL:
        printf("error: the shelf is full\n");
        break;
    }
}

static void with_quantity(struct shelf *shelf, const char *command, const char *name, int qty)
{
    if (qty == 0)
        printf("error: %s needs a quantity from 1 to %d\n", command, QTY_MAX);
    else if (strcmp(command, "add") == 0)
        answer(shelf, shelf_add(shelf, name, qty), name);
    else
        answer(shelf, shelf_take(shelf, name, qty), name);
}

static void run(struct shelf *shelf, char *line)
{
    const char *command = strtok(line, " \t\r\n");
    if (command == NULL || command[0] == '#')
        return;
    const char *name = strtok(NULL, " \t\r\n");
    const char *number = strtok(NULL, " \t\r\n");

    if (strcmp(command, "reverse") == 0) {
        shelf_reverse(shelf);
    } else if (strcmp(command, "list") == 0) {
        for (const struct item *item = shelf->head; item != NULL; item = item->next)
            printf("%s %d\n", item->name, item->qty);
    } else if (strcmp(command, "count") == 0) {
        printf("count %d\n", shelf->count);
    } else if (strcmp(command, "total") == 0) {
        printf("total %d\n", shelf_total(shelf));
    } else if (strcmp(command, "add") != 0 && strcmp(command, "take") != 0
               && strcmp(command, "drop") != 0 && strcmp(command, "front") != 0) {
        printf("error: what is %s\n", command);
    } else if (name == NULL || strlen(name) > NAME_MAX_LEN) {
        printf("error: %s needs a name of up to %d characters\n", command, NAME_MAX_LEN);
    } else if (strcmp(command, "drop") == 0) {
        answer(shelf, shelf_drop(shelf, name), name);
    } else if (strcmp(command, "front") == 0) {
        answer(shelf, shelf_front(shelf, name), name);
    } else {
        with_quantity(shelf, command, name, quantity(number));
    }
}

int main(void)
{
    static struct shelf shelf;
    char line[256];
    shelf_init(&shelf);
    while (fgets(line, sizeof line, stdin) != NULL)
        run(&shelf, line);
    return 0;
}
