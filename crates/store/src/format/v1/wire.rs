//! The bridge between what is written and what `domain` means: [`Wire`], and the macro that mirrors a type.

use std::collections::{BTreeMap, BTreeSet};

use domain::ids;

/// A written form of a `domain` type; both directions are total.
pub(crate) trait Wire<D>: Sized {
    fn from_domain(value: &D) -> Self;
    fn into_domain(self) -> D;
}

/// Mirrors enums and structs of `domain`: one written type, both conversions. The patterns are exhaustive, so a
/// new variant or field of `domain` does not compile until it has a written form. Its comments are for readers of
/// files: they become the descriptions of the JSON Schemas.
macro_rules! wire {
    ($(#[$meta:meta])* enum $wire:ident = $domain:ty { $(
        $(#[$about:meta])*
        $variant:ident $({ $($(#[$field_about:meta])* $field:ident : $type:ty),* $(,)? })?
        $(( $($part:ident : $part_type:ty),* ))?
    ),* $(,)? } $($rest:tt)*) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "snake_case", deny_unknown_fields)]
        pub(crate) enum $wire { $(
            $(#[$about])*
            $variant $({ $($(#[$field_about])* $field: $type),* })? $(( $($part_type),* ))?
        ),* }

        impl $crate::format::v1::wire::Wire<$domain> for $wire {
            fn from_domain(value: &$domain) -> Self {
                type Domain = $domain;
                match value { $(
                    Domain::$variant $({ $($field),* })? $(( $($part),* ))? => Self::$variant
                        $({ $($field: $crate::format::v1::wire::Wire::from_domain($field)),* })?
                        $(( $($crate::format::v1::wire::Wire::from_domain($part)),* ))?,
                )* }
            }

            fn into_domain(self) -> $domain {
                type Domain = $domain;
                match self { $(
                    Self::$variant $({ $($field),* })? $(( $($part),* ))? => Domain::$variant
                        $({ $($field: $crate::format::v1::wire::Wire::into_domain($field)),* })?
                        $(( $($crate::format::v1::wire::Wire::into_domain($part)),* ))?,
                )* }
            }
        }

        wire! { $($rest)* }
    };
    ($(#[$meta:meta])* struct $wire:ident = $domain:ty {
        $($(#[$about:meta])* $field:ident : $type:ty),* $(,)?
    } $($rest:tt)*) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct $wire { $($(#[$about])* pub(crate) $field: $type),* }

        impl $crate::format::v1::wire::Wire<$domain> for $wire {
            fn from_domain(value: &$domain) -> Self {
                type Domain = $domain;
                let Domain { $($field),* } = value;
                Self { $($field: $crate::format::v1::wire::Wire::from_domain($field)),* }
            }

            fn into_domain(self) -> $domain {
                type Domain = $domain;
                Domain { $($field: $crate::format::v1::wire::Wire::into_domain(self.$field)),* }
            }
        }

        wire! { $($rest)* }
    };
    () => {};
}

pub(crate) use wire;

macro_rules! plain {
    ($($type:ty),*) => {$(
        impl Wire<$type> for $type {
            fn from_domain(value: &$type) -> Self {
                value.clone()
            }

            fn into_domain(self) -> $type {
                self
            }
        }
    )*};
}

plain!(bool, u16, u32, u64, i32, i64, f64, String);

macro_rules! text_ids {
    ($($id:ident),*) => {$(
        impl Wire<ids::$id> for String {
            fn from_domain(value: &ids::$id) -> Self {
                value.as_str().to_owned()
            }

            fn into_domain(self) -> ids::$id {
                ids::$id::new(self)
            }
        }
    )*};
}

text_ids!(
    ReleaseId,
    SuiteId,
    TaskId,
    StepId,
    PersonaId,
    FamilyId,
    PairId,
    RequirementId,
    CheckId,
    TopicId,
    Hash,
    AgentName
);

macro_rules! number_ids {
    ($($id:ident),*) => {$(
        impl Wire<ids::$id> for u32 {
            fn from_domain(value: &ids::$id) -> Self {
                value.0
            }

            fn into_domain(self) -> ids::$id {
                ids::$id(self)
            }
        }
    )*};
}

number_ids!(Turn, Repeat, Attempt, CommandId, RequestId);

impl<D, W: Wire<D>> Wire<Vec<D>> for Vec<W> {
    fn from_domain(value: &Vec<D>) -> Self {
        value.iter().map(W::from_domain).collect()
    }

    fn into_domain(self) -> Vec<D> {
        self.into_iter().map(W::into_domain).collect()
    }
}

impl<D: Ord, W: Wire<D>> Wire<BTreeSet<D>> for Vec<W> {
    fn from_domain(value: &BTreeSet<D>) -> Self {
        value.iter().map(W::from_domain).collect()
    }

    fn into_domain(self) -> BTreeSet<D> {
        self.into_iter().map(W::into_domain).collect()
    }
}

impl<D, W: Wire<D>> Wire<Option<D>> for Option<W> {
    fn from_domain(value: &Option<D>) -> Self {
        value.as_ref().map(W::from_domain)
    }

    fn into_domain(self) -> Option<D> {
        self.map(W::into_domain)
    }
}

impl<A, B, V: Wire<A>, W: Wire<B>> Wire<(A, B)> for (V, W) {
    fn from_domain(value: &(A, B)) -> Self {
        (V::from_domain(&value.0), W::from_domain(&value.1))
    }

    fn into_domain(self) -> (A, B) {
        (self.0.into_domain(), self.1.into_domain())
    }
}

impl<K: Ord, D, L: Wire<K> + Ord, W: Wire<D>> Wire<BTreeMap<K, D>> for BTreeMap<L, W> {
    fn from_domain(value: &BTreeMap<K, D>) -> Self {
        value.iter().map(|(key, value)| (L::from_domain(key), W::from_domain(value))).collect()
    }

    fn into_domain(self) -> BTreeMap<K, D> {
        self.into_iter().map(|(key, value)| (key.into_domain(), value.into_domain())).collect()
    }
}
