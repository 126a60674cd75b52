//! Where and how the world breaks in a simulation: a [`FaultPlan`] names the point, the time and the effect.

use std::sync::{Arc, Mutex};

use engine::ports::sandbox::SandboxFault;

/// A point at which a fault can be planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FaultPoint {
    /// A base is made.
    Materialise,
    /// A sandbox is made.
    Provision,
    /// A command runs.
    Exec,
    /// Files are placed.
    Put,
    /// Files are read.
    Get,
    /// Every process is stopped.
    Freeze,
    /// Processes go on.
    Thaw,
    /// Evidence is taken.
    Capture,
    /// A throw-away copy is made.
    Fork,
    /// A verification sandbox is made.
    Restore,
    /// Every process is killed.
    End,
}

impl FaultPoint {
    /// All points.
    pub const ALL: [FaultPoint; 11] = [
        FaultPoint::Materialise,
        FaultPoint::Provision,
        FaultPoint::Exec,
        FaultPoint::Put,
        FaultPoint::Get,
        FaultPoint::Freeze,
        FaultPoint::Thaw,
        FaultPoint::Capture,
        FaultPoint::Fork,
        FaultPoint::Restore,
        FaultPoint::End,
    ];

    /// The name that stands in reproductions.
    pub fn name(self) -> &'static str {
        match self {
            FaultPoint::Materialise => "materialise",
            FaultPoint::Provision => "provision",
            FaultPoint::Exec => "exec",
            FaultPoint::Put => "put",
            FaultPoint::Get => "get",
            FaultPoint::Freeze => "freeze",
            FaultPoint::Thaw => "thaw",
            FaultPoint::Capture => "capture",
            FaultPoint::Fork => "fork",
            FaultPoint::Restore => "restore",
            FaultPoint::End => "end",
        }
    }
}

/// What happens there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FaultEffect {
    /// The sandbox vanishes.
    Lost,
    /// The host runs out of something.
    HostLimit,
    /// The verb never comes back.
    Hang,
}

/// At most one fault, at the nth time that its point is passed.
#[derive(Clone, Debug, Default)]
pub struct FaultPlan {
    planned: Option<(FaultPoint, u32, FaultEffect)>,
    passed: Arc<Mutex<u32>>,
}

impl FaultPlan {
    /// A fault at the nth passing of a point, from 1.
    pub fn at(point: FaultPoint, nth: u32, effect: FaultEffect) -> Self {
        Self { planned: Some((point, nth, effect)), passed: Arc::default() }
    }

    /// Whether the fault has happened.
    pub fn has_struck(&self) -> bool {
        let passed = *self.passed.lock().expect("no holder panics");
        self.planned.is_some_and(|(_, nth, _)| passed >= nth)
    }

    /// Passes a point.
    pub(super) async fn pass(&self, point: FaultPoint) -> Result<(), SandboxFault> {
        let Some((planned, nth, effect)) = self.planned else { return Ok(()) };
        if planned != point {
            return Ok(());
        }
        let is_now = {
            let mut passed = self.passed.lock().expect("no holder panics");
            *passed += 1;
            *passed == nth
        };
        match (is_now, effect) {
            (false, _) => Ok(()),
            (true, FaultEffect::Lost) => {
                Err(SandboxFault::Lost(format!("planned at {}", point.name())))
            }
            (true, FaultEffect::HostLimit) => {
                Err(SandboxFault::HostLimit(format!("planned at {}", point.name())))
            }
            (true, FaultEffect::Hang) => std::future::pending().await,
        }
    }
}
