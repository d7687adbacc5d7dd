//! Layers of a probe and their gradients: y = W·x + C·(g(A·x) ⊙ (B·x)) + bias, with GELU between layers. The gate g is
//! the identity or GELU.

use serde::{Deserialize, Serialize};

use crate::backend::{Activation, Backend};
use crate::error::Result;

/// One layer; `P` is the parameter type.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Layer<P> {
    /// W, `(outputs, inputs)`.
    pub weight: Option<P>,
    /// The term of products.
    pub bilinear: Option<Bilinear<P>>,
    /// `(1, outputs)`.
    pub bias: P,
}

/// C·(g(A·x) ⊙ (B·x)).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Bilinear<P> {
    /// `(rank, inputs)`.
    pub a: P,
    /// `(rank, inputs)`.
    pub b: P,
    /// `(outputs, rank)`.
    pub c: P,
    /// g.
    pub gate: Activation,
}

/// A sequence of layers, each with a weight or a bilinear term.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Network<P>(pub Vec<Layer<P>>);

impl<P> Network<P> {
    /// Applies `f` to every parameter.
    pub fn map<Q>(&self, f: &mut impl FnMut(&P) -> Result<Q>) -> Result<Network<Q>> {
        self.zip(self, &mut |parameter, _| f(parameter))
    }

    /// Applies `f` to every pair of parameters of two networks of the same architecture.
    pub fn zip<Q, R>(&self, other: &Network<Q>, f: &mut impl FnMut(&P, &Q) -> Result<R>) -> Result<Network<R>> {
        self.0.iter().zip(&other.0).map(|(layer, other)| layer.zip(other, f)).collect::<Result<_>>().map(Network)
    }
}

impl<P> Layer<P> {
    fn zip<Q, R>(&self, other: &Layer<Q>, f: &mut impl FnMut(&P, &Q) -> Result<R>) -> Result<Layer<R>> {
        let weight = self.weight.as_ref().zip(other.weight.as_ref());
        let bilinear = self.bilinear.as_ref().zip(other.bilinear.as_ref());
        Ok(Layer {
            weight: weight.map(|(p, q)| f(p, q)).transpose()?,
            bilinear: bilinear
                .map(|(p, q)| {
                    let (a, b, c) = (f(&p.a, &q.a)?, f(&p.b, &q.b)?, f(&p.c, &q.c)?);
                    Ok::<_, crate::error::Error>(Bilinear { a, b, c, gate: p.gate })
                })
                .transpose()?,
            bias: f(&self.bias, &other.bias)?,
        })
    }
}

/// A layer's activations, kept for its gradient.
pub struct Trace<T> {
    /// Input, `(rows, inputs)`.
    pub input: T,
    /// A·x, B·x and g(A·x) ⊙ (B·x), `(rows, rank)` each.
    pub products: Option<[T; 3]>,
    /// Output before GELU, `(rows, outputs)`.
    pub output: T,
}

impl<T: Clone> Network<T> {
    /// The traces of all layers for the rows of x.
    pub fn forward<B: Backend<Tensor = T>>(&self, backend: &B, x: &T) -> Result<Vec<Trace<T>>> {
        let mut traces: Vec<Trace<T>> = Vec::with_capacity(self.0.len());
        for layer in &self.0 {
            let input = match traces.last() {
                Some(before) => backend.activation(&before.output, Activation::Gelu)?,
                None => x.clone(),
            };
            traces.push(layer.forward(backend, input)?);
        }
        Ok(traces)
    }

    /// Gradients of all parameters, given the gradient of the output, `(rows, outputs)`; `ones` is `(1, rows)` of ones.
    pub fn backward<B: Backend<Tensor = T>>(
        &self,
        backend: &B,
        traces: &[Trace<T>],
        gradient: T,
        ones: &T,
    ) -> Result<Network<T>> {
        let mut gradient = gradient;
        let mut layers = Vec::with_capacity(self.0.len());
        for (index, (layer, trace)) in self.0.iter().zip(traces).enumerate().rev() {
            let (parameters, through) = layer.backward(backend, trace, &gradient, ones)?;
            layers.push(parameters);
            if index > 0 {
                let input = through.of_input(backend, layer, trace, &gradient)?;
                gradient = backend.gelu_gradient(&traces[index - 1].output, &input)?;
            }
        }
        layers.reverse();
        Ok(Network(layers))
    }
}

/// Gradients of A·x and B·x, `(rows, rank)`.
struct Through<T>(Option<[T; 2]>);

impl<T: Clone> Layer<T> {
    /// The layer's output, with the values that its gradient needs.
    pub fn forward<B: Backend<Tensor = T>>(&self, backend: &B, input: T) -> Result<Trace<T>> {
        let products = self.products(backend, &input)?;
        let linear = match &self.weight {
            Some(weight) => Some(backend.linear(&input, weight, Some(&self.bias))?),
            None => None,
        };
        let output = match (&self.bilinear, &products, linear) {
            (Some(bilinear), Some([_, _, product]), None) => backend.linear(product, &bilinear.c, Some(&self.bias))?,
            (Some(bilinear), Some([_, _, product]), Some(linear)) => {
                backend.add(&linear, &backend.linear(product, &bilinear.c, None)?)?
            }
            (_, _, Some(linear)) => linear,
            (_, _, None) => backend.gather(&self.bias, &vec![0; backend.shape(&input).rows])?,
        };
        Ok(Trace { input, products, output })
    }

    /// A·x, B·x and g(A·x) ⊙ (B·x), if there is a bilinear term.
    fn products<B: Backend<Tensor = T>>(&self, backend: &B, input: &T) -> Result<Option<[T; 3]>> {
        let Some(bilinear) = &self.bilinear else { return Ok(None) };
        let (u, v) = (backend.linear(input, &bilinear.a, None)?, backend.linear(input, &bilinear.b, None)?);
        let product = backend.gated(&u, &v, bilinear.gate)?;
        Ok(Some([u, v, product]))
    }

    fn backward<B: Backend<Tensor = T>>(
        &self,
        backend: &B,
        trace: &Trace<T>,
        gradient: &T,
        ones: &T,
    ) -> Result<(Self, Through<T>)> {
        // linear(a, b) is a·bᵀ, so gᵀ·x is computed from both transposes.
        let (gradient_t, input_t) = (backend.transpose(gradient)?, backend.transpose(&trace.input)?);
        let weight = self.weight.as_ref().map(|_| backend.linear(&gradient_t, &input_t, None)).transpose()?;
        let bias = backend.linear(ones, &gradient_t, None)?;
        let (bilinear, through) = match (&self.bilinear, &trace.products) {
            (Some(bilinear), Some([u, v, product])) => {
                let inner = backend.linear(gradient, &backend.transpose(&bilinear.c)?, None)?;
                let of_u = backend.gated(&inner, v, Activation::Identity)?;
                let (of_u, of_v) = match bilinear.gate {
                    Activation::Gelu => (backend.gelu_gradient(u, &of_u)?, backend.gated(u, &inner, Activation::Gelu)?),
                    _ => (of_u, backend.gated(&inner, u, Activation::Identity)?),
                };
                let gradients = Bilinear {
                    a: backend.linear(&backend.transpose(&of_u)?, &input_t, None)?,
                    b: backend.linear(&backend.transpose(&of_v)?, &input_t, None)?,
                    c: backend.linear(&gradient_t, &backend.transpose(product)?, None)?,
                    gate: bilinear.gate,
                };
                (Some(gradients), Some([of_u, of_v]))
            }
            _ => (None, None),
        };
        Ok((Self { weight, bilinear, bias }, Through(through)))
    }
}

impl<T: Clone> Through<T> {
    /// Gradient of the layer's input, `(rows, inputs)`.
    fn of_input<B: Backend<Tensor = T>>(
        &self,
        backend: &B,
        layer: &Layer<T>,
        trace: &Trace<T>,
        gradient: &T,
    ) -> Result<T> {
        let mut terms = Vec::with_capacity(3);
        if let Some(weight) = &layer.weight {
            terms.push(backend.linear(gradient, &backend.transpose(weight)?, None)?);
        }
        if let (Some(bilinear), Some([of_u, of_v])) = (&layer.bilinear, &self.0) {
            terms.push(backend.linear(of_u, &backend.transpose(&bilinear.a)?, None)?);
            terms.push(backend.linear(of_v, &backend.transpose(&bilinear.b)?, None)?);
        }
        let mut terms = terms.into_iter();
        // A layer without either term is constant.
        let first = terms.next().map_or_else(|| backend.combine(&trace.input, 0.0, &trace.input, 0.0), Ok)?;
        terms.try_fold(first, |sum, term| backend.add(&sum, &term))
    }
}
