//! The user without a model: [`TemplateUser`] says the author's own words.

use domain::{session::Wordsmith, wording};
use engine::ports::user::{User, UserFault, WordRequest, Wording};

/// Words every plan by the pure template.
#[derive(Clone, Copy, Debug, Default)]
pub struct TemplateUser;

#[async_trait::async_trait]
impl User for TemplateUser {
    async fn word(&self, request: WordRequest<'_>) -> Result<Wording, UserFault> {
        let text = wording::template(request.plan);
        Ok(Wording { text, by: Wordsmith::Template, exchange: None })
    }
}
