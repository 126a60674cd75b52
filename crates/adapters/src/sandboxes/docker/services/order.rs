//! In which order services start ([`in_order`]).

use super::project::{MAIN, Service};

/// Services so that each comes after those that it needs, main as late as it can be; in a circle nobody can start.
pub(super) fn in_order(services: Vec<Service>) -> Result<Vec<Service>, String> {
    let mut left = services;
    let mut ordered: Vec<Service> = Vec::new();
    while !left.is_empty() {
        let is_ready = |service: &Service| {
            let is_there = |name: &str| ordered.iter().any(|one| one.name == name);
            service.needs.iter().all(|need| is_there(&need.service))
        };
        // Whoever does not wait for main is started before what of the image begins in it.
        let next = left
            .iter()
            .position(|service| service.name != MAIN && is_ready(service))
            .or_else(|| left.iter().position(is_ready));
        let Some(next) = next else {
            let names: Vec<String> =
                left.iter().map(|service| format!("`{}`", service.name)).collect();
            return Err(format!("{} wait for each other", names.join(" and ")));
        };
        ordered.push(left.remove(next));
    }
    Ok(ordered)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandboxes::docker::services::project::{Condition, Need};

    #[test]
    fn services_come_after_what_they_need() {
        let check = |given: &[(&str, &[&str])], expect: Result<&[&str], &str>| {
            let services = given.iter().map(|(name, needs)| Service {
                name: (*name).to_owned(),
                needs: needs
                    .iter()
                    .map(|need| Need { service: (*need).to_owned(), condition: Condition::Started })
                    .collect(),
                ..Service::default()
            });
            let ordered = in_order(services.collect());
            let names: Result<Vec<String>, String> =
                ordered.map(|ordered| ordered.into_iter().map(|service| service.name).collect());
            let expect = expect
                .map(|names| names.iter().map(|name| (*name).to_owned()).collect())
                .map_err(str::to_owned);
            assert_eq!(names, expect, "{given:?}");
        };
        check(&[("main", &[])], Ok(&["main"]));
        check(&[("main", &[]), ("db", &[])], Ok(&["db", "main"]));
        check(
            &[("a", &["b"]), ("b", &["c"]), ("c", &[]), ("main", &["a"])],
            Ok(&["c", "b", "a", "main"]),
        );
        check(&[("late", &["main"]), ("main", &["db"]), ("db", &[])], Ok(&["db", "main", "late"]));
        check(
            &[("a", &["b"]), ("b", &["a"]), ("main", &[])],
            Err("`a` and `b` wait for each other"),
        );
    }
}
