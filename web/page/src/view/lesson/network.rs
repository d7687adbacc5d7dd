//! Step 1: a network of three units, with and without nonlinearity.

use leptos::prelude::*;
use straightedge_web::lesson::activation::Activation;
use straightedge_web::lesson::pictures;
use straightedge_web::text::fill;
use straightedge_web::text::format::fixed;
use straightedge_web::text::lesson::l;

use super::parts::{Choice, Picture};
use crate::session::Session;
use crate::view::mechanism::Mechanism;

/// The available activations.
const CHOICES: [Activation; 3] = [Activation::Gelu, Activation::Relu, Activation::Identity];

#[component]
pub(super) fn Example(session: Session) -> impl IntoView {
    let bench = session.guide.bench;
    let network = Memo::new(move |_| bench.with(|bench| bench.network));
    let plot = Memo::new(move |_| pictures::network(network.get()));
    let reading = move || fill(l().network_reading, &[("r2", &fixed(network.get().line().1, 3))]);
    let choice = move |activation: Activation| {
        let is_chosen = Signal::derive(move || network.get().activation == activation);
        let choose = Callback::new(move |()| bench.update(|bench| bench.network.activation = activation));
        view! { <Choice name=name(activation) id=format!("network-{}", activation.id()) is_chosen choose/> }
    };
    view! {
        <div class="example">
            <div class="chips" role="group" aria-label=l().activation>{CHOICES.map(choice).collect_view()}</div>
            <p class="reading"><output data-testid="reading-1">{reading}</output></p>
            <Picture plot label=l().network_chart/>
            <Mechanism session/>
        </div>
    }
}

/// Display name of an activation.
pub(super) fn name(activation: Activation) -> &'static str {
    match activation {
        Activation::Gelu => l().activation_gelu,
        Activation::GeluTanh => l().activation_gelu_tanh,
        Activation::Silu => l().activation_silu,
        Activation::Relu => l().activation_relu,
        Activation::Identity => l().activation_identity,
    }
}
