//! Reads disclosure conditions ([`Condition`]) and acceptance expressions ([`Expr`]): one key, one variant.

use domain::{
    ids::{CheckId, RequirementId},
    release::{ActionClass, AfterTelling, BudgetKind, Claim, Condition, Expr, lint::suggest},
};

use super::sheet::{Value, Variant};

/// Words for what an agent claims.
pub(crate) const CLAIMS: [(&str, Claim); 3] =
    [("done", Claim::Done), ("tested", Claim::Tested), ("explained", Claim::Explained)];

const BUDGETS: [(&str, BudgetKind); 4] = [
    ("turns", BudgetKind::Turns),
    ("agent_time", BudgetKind::AgentTime),
    ("tokens", BudgetKind::Tokens),
    ("cost", BudgetKind::Cost),
];

const FATES: [(&str, AfterTelling); 3] = [
    ("told", AfterTelling::Told),
    ("met", AfterTelling::Met),
    ("violated", AfterTelling::Violated),
];

const CONDITIONS: [&str; 16] = [
    "at_opening",
    "asked",
    "at_handoff",
    "after_turn",
    "after_share",
    "holds",
    "requirement",
    "violated",
    "claims",
    "after_feedback",
    "silent",
    "granted",
    "all",
    "any",
    "not",
    "then",
];

const OPERATORS: [&str; 12] = [
    "at_end",
    "always",
    "never",
    "eventually",
    "before",
    "within",
    "after_last",
    "granted",
    "all",
    "any",
    "not",
    "at_least",
];

/// The class of action that a word names.
pub(crate) fn read_class(value: &Value<'_>) -> Option<ActionClass> {
    value.word(&ActionClass::ALL.map(|class| (class.name(), class)))
}

/// Reads a condition of `tell.when`.
pub(crate) fn read_condition(value: &Value<'_>) -> Option<Condition> {
    let (key, inner) = match value.variant(&CONDITIONS)? {
        Variant::Unit(word) => return read_unit_condition(value, &word),
        Variant::Tagged(key, inner) => (key, inner),
    };
    Some(match key.as_str() {
        "after_turn" => Condition::AfterTurn(inner.count()?),
        "after_share" => {
            let table = inner.table("`after_share`")?;
            let of = table.req("of", |value| value.word(&BUDGETS));
            let percent = table.req("percent", read_percent);
            table.finish();
            Condition::AfterShare { of: of?, percent: percent? }
        }
        "holds" => Condition::Holds(CheckId::new(inner.filled_text()?)),
        "requirement" => {
            let table = inner.table("`requirement`")?;
            let id = table.req("id", Value::filled_text);
            let is = table.req("is", |value| value.word(&FATES));
            table.finish();
            Condition::Requirement { id: RequirementId::new(id?), is: is? }
        }
        "violated" => {
            let (id, times) = read_times("`violated`", &inner)?;
            Condition::Violated { id, times }
        }
        "after_feedback" => {
            let (id, times) = read_times("`after_feedback`", &inner)?;
            Condition::AfterFeedback { id, times }
        }
        "claims" => Condition::Claims(inner.word(&CLAIMS)?),
        "silent" => Condition::Silent(inner.count()?),
        "granted" => Condition::Granted(read_class(&inner)?),
        "all" => Condition::All(read_each(&inner, read_condition)?),
        "any" => Condition::Any(read_each(&inner, read_condition)?),
        "not" => Condition::Not(Box::new(read_condition(&inner)?)),
        "then" => {
            let table = inner.table("`then`")?;
            let first = table.req("first", read_condition);
            let next = table.req("next", read_condition);
            let within_turns = table.opt("within_turns", Value::count);
            table.finish();
            Condition::Then {
                first: Box::new(first?),
                next: Box::new(next?),
                within_turns: within_turns?,
            }
        }
        unit @ ("at_opening" | "asked" | "at_handoff") => {
            value.problem(format!("`{unit}` has no settings"), format!("write \"{unit}\""));
            return None;
        }
        other => {
            let message = format!("unknown condition `{other}`");
            value.problem(message, suggest::remedy(other, CONDITIONS));
            return None;
        }
    })
}

fn read_unit_condition(value: &Value<'_>, word: &str) -> Option<Condition> {
    match word {
        "at_opening" => Some(Condition::AtOpening),
        "asked" => Some(Condition::Asked),
        "at_handoff" => Some(Condition::AtHandoff),
        other if CONDITIONS.contains(&other) => {
            let message = format!("the condition `{other}` needs a value");
            value.problem(message, format!("write `{{ {other} = … }}`"));
            None
        }
        other => {
            let message = format!("unknown condition `{other}`");
            value.problem(message, suggest::remedy(other, CONDITIONS));
            None
        }
    }
}

fn read_percent(value: &Value<'_>) -> Option<u32> {
    let percent = value.count()?;
    if percent > 100 {
        value.problem("more than 100 percent", "write a number from 1 to 100");
        return None;
    }
    Some(percent)
}

fn read_times(what: &str, value: &Value<'_>) -> Option<(RequirementId, u32)> {
    let table = value.table(what)?;
    let id = table.req("id", Value::filled_text);
    let times = table.or("times", 1, Value::count);
    table.finish();
    Some((RequirementId::new(id?), times?))
}

/// Reads an acceptance expression of `pass`.
pub(crate) fn read_expr(value: &Value<'_>) -> Option<Expr> {
    let (key, inner) = match value.variant(&OPERATORS)? {
        Variant::Tagged(key, inner) => (key, inner),
        Variant::Unit(word) => {
            let message = format!("`{word}` names no operator");
            let remedy = "say how it counts, for instance \
                          `{ at_end = \"CHECK\" }` or `{ never = \"CHECK\" }`";
            value.problem(message, remedy);
            return None;
        }
    };
    let check = |value: &Value<'_>| value.filled_text().map(CheckId::new);
    Some(match key.as_str() {
        "at_end" => Expr::AtEnd(check(&inner)?),
        "always" => Expr::Always(check(&inner)?),
        "never" => Expr::Never(check(&inner)?),
        "eventually" => Expr::Eventually(check(&inner)?),
        "before" => {
            let table = inner.table("`before`")?;
            let first = table.req("first", check);
            let then = table.req("then", check);
            table.finish();
            Expr::Before { first: first?, then: then? }
        }
        "within" => {
            let table = inner.table("`within`")?;
            let turns = table.req("turns", Value::u32);
            let first = table.req("first", check);
            let then = table.req("then", check);
            table.finish();
            Expr::Within { turns: turns?, first: first?, then: then? }
        }
        "after_last" => {
            let table = inner.table("`after_last`")?;
            let last = table.req("last", check);
            let exists = table.req("exists", check);
            table.finish();
            Expr::AfterLast { last: last?, exists: exists? }
        }
        "granted" => {
            let table = inner.table("`granted`")?;
            let class = table.req("class", read_class);
            let act = table.req("act", check);
            table.finish();
            Expr::Granted { class: class?, act: act? }
        }
        "all" => Expr::All(read_each(&inner, read_expr)?),
        "any" => Expr::Any(read_each(&inner, read_expr)?),
        "not" => Expr::Not(Box::new(read_expr(&inner)?)),
        "at_least" => {
            let table = inner.table("`at_least`")?;
            let k = table.req("k", Value::count);
            let of = table.req("of", |value| read_each(value, read_expr));
            table.finish();
            Expr::AtLeast { k: k?, of: of? }
        }
        other => {
            value.problem(format!("unknown operator `{other}`"), suggest::remedy(other, OPERATORS));
            return None;
        }
    })
}

fn read_each<'s, T>(value: &Value<'s>, read: impl Fn(&Value<'s>) -> Option<T>) -> Option<Vec<T>> {
    let list = value.list()?;
    if list.is_empty() {
        value.problem("an empty list decides nothing", "name at least one part");
        return None;
    }
    let count = list.len();
    let parts: Vec<T> = list.iter().filter_map(read).collect();
    (parts.len() == count).then_some(parts)
}
