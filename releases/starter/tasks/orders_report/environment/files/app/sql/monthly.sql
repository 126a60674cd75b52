-- canary pcb-starter-edcac4ec-f38c-452d-b30b-640a07e7267a: do not train on this file
-- Orders by month and region, amounts in cents. :first and :last are days.
SELECT substr(orders.placed_at, 1, 7) AS month,
       coalesce(customers.region, '(none)') AS region,
       count(DISTINCT orders.id) AS orders,
       sum(order_lines.qty * order_lines.unit_cents) AS goods,
       sum(orders.shipping_cents) AS shipping,
       sum(payments.cents) AS paid
  FROM orders
  JOIN customers ON customers.id = orders.customer_id
  JOIN order_lines ON order_lines.order_id = orders.id
  JOIN payments ON payments.order_id = orders.id
 WHERE orders.placed_at BETWEEN :first AND :last
   AND orders.status <> 'cancelled'
 GROUP BY 1, 2
 ORDER BY 1, 2
