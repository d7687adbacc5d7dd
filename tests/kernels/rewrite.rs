//! Kernels rewritten in ways that WGSL permits a compiler: products contracted with sums, sums reordered, and denormals
//! flushed to 0. Exact sums must not change.

use naga::valid::{Capabilities, FunctionInfo, ModuleInfo, ValidationFlags, Validator};
use naga::{
    Arena, BinaryOperator, Block, Expression, Function, Handle, Literal, MathFunction, Module, Range, Scalar,
    ScalarKind, Span, Statement, Type, TypeInner, UnaryOperator, UniqueArena, VectorSize,
};
use straightedge::backend::gpu::Rewrite;
use straightedge::backend::gpu::kernels::Kernel;

/// Every rewrite by name, for `Options::rewrite`.
pub(crate) const WAYS: [(&str, Rewrite); 4] =
    [("as they are", unchanged), ("contracted", contracted), ("reassociated", reassociated), ("flushed", flushed)];

pub(crate) fn unchanged(kernel: &'static Kernel) -> String {
    rewritten(kernel, None)
}

fn contracted(kernel: &'static Kernel) -> String {
    rewritten(kernel, Some(Way::Contracted))
}

fn reassociated(kernel: &'static Kernel) -> String {
    rewritten(kernel, Some(Way::Reassociated))
}

fn flushed(kernel: &'static Kernel) -> String {
    rewritten(kernel, Some(Way::Flushed))
}

#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// a·b + c without rounding the product. Emulated adapters round `fma` twice, so a product that f32 may not
    /// represent is replaced by its neighbour.
    Contracted,
    /// Sums of any number of terms from the last to the first.
    Reassociated,
    /// 0 for every denormal that is loaded or computed.
    Flushed,
}

/// WGSL of a kernel with its overrides' values.
fn rewritten(kernel: &'static Kernel, way: Option<Way>) -> String {
    let module = naga::front::wgsl::parse_str(kernel.source).expect("WGSL");
    let info = validated(&module);
    let mut constants = naga::back::PipelineConstants::default();
    constants.extend(kernel.overrides.iter().map(|(name, value)| ((*name).to_owned(), *value)));
    let entry = Some((naga::ShaderStage::Compute, kernel.name));
    let (module, info) =
        naga::back::pipeline_constants::process_overrides(&module, &info, entry, &constants).expect("overrides");
    let (mut module, info) = (module.into_owned(), info.into_owned());
    if let Some(way) = way {
        let types = module.types.clone();
        for (handle, function) in module.functions.iter_mut() {
            Rewriter::run(way, &types, &info[handle], function);
        }
        for (index, entry) in module.entry_points.iter_mut().enumerate() {
            Rewriter::run(way, &types, info.get_entry_point(index), &mut entry.function);
        }
    }
    let info = validated(&module);
    naga::back::wgsl::write_string(&module, &info, naga::back::wgsl::WriterFlags::empty()).expect("WGSL")
}

fn validated(module: &Module) -> ModuleInfo {
    let mut validator = Validator::new(ValidationFlags::all(), Capabilities::SUBGROUP);
    validator.validate(module).expect("a valid module")
}

/// Rebuilds a function's expressions in order, inserting others before some.
struct Rewriter<'a> {
    way: Way,
    types: &'a UniqueArena<Type>,
    info: &'a FunctionInfo,
    old: &'a Arena<Expression>,
    new: Arena<Expression>,
    /// New handle of each old expression, and the first of those inserted for it.
    places: Vec<[Handle<Expression>; 2]>,
    /// The smallest normal f32, and 0.
    tiny: Handle<Expression>,
    zero: Handle<Expression>,
    /// 1, the bit above an f32's mantissa, and the number of mantissa bits.
    one: Handle<Expression>,
    above: Handle<Expression>,
    bits: Handle<Expression>,
}

impl<'a> Rewriter<'a> {
    fn run(way: Way, types: &'a UniqueArena<Type>, info: &'a FunctionInfo, function: &mut Function) {
        let old = function.expressions.take();
        let mut new = Arena::new();
        let [tiny, zero] = [f32::MIN_POSITIVE, 0.0].map(|value| literal(&mut new, Literal::F32(value)));
        let [one, above, bits] = [1, 1 << 23, 23].map(|value| literal(&mut new, Literal::U32(value)));
        let mut rewriter =
            Rewriter { way, types, info, old: &old, new, places: Vec::new(), tiny, zero, one, above, bits };
        for (handle, expression) in old.iter() {
            let before = rewriter.new.len();
            let last = rewriter.rewrite(handle, expression);
            let first = rewriter.new.range_from(before).first_and_last().map_or(last, |(first, _)| first);
            rewriter.places.push([first, last]);
        }
        for (_, variable) in function.local_variables.iter_mut() {
            variable.init = variable.init.map(|init| rewriter.at(init));
        }
        function.named_expressions =
            function.named_expressions.drain(..).map(|(handle, name)| (rewriter.at(handle), name)).collect();
        rewriter.block(&mut function.body);
        function.expressions = rewriter.new;
    }

    /// New handle of an old expression.
    fn at(&self, old: Handle<Expression>) -> Handle<Expression> {
        self.places[old.index()][1]
    }

    fn push(&mut self, expression: Expression) -> Handle<Expression> {
        self.new.append(expression, Span::default())
    }

    /// Number of components of an f32 value: `None` for a scalar, or for a value that is not f32.
    fn size(&self, old: Handle<Expression>) -> Option<VectorSize> {
        match self.info[old].ty.inner_with(self.types) {
            TypeInner::Vector { size, scalar: Scalar::F32 } => Some(*size),
            _ => None,
        }
    }

    fn is_float(&self, old: Handle<Expression>) -> bool {
        let inner = self.info[old].ty.inner_with(self.types);
        matches!(inner, TypeInner::Scalar(Scalar::F32)) || self.size(old).is_some()
    }

    fn rewrite(&mut self, handle: Handle<Expression>, expression: &Expression) -> Handle<Expression> {
        let changed = match self.way {
            _ if !self.is_float(handle) => None,
            Way::Contracted => self.contract(handle, expression),
            Way::Reassociated => self.reassociate(handle),
            Way::Flushed => None,
        };
        let last = changed.unwrap_or_else(|| self.copy(expression));
        let computes = matches!(
            expression,
            Expression::Binary { .. } | Expression::Math { .. } | Expression::Load { .. } | Expression::As { .. }
        );
        if self.way == Way::Flushed && computes && self.is_float(handle) { self.flush(handle, last) } else { last }
    }

    /// The same expression with the operands' new handles.
    fn copy(&mut self, expression: &Expression) -> Handle<Expression> {
        let mut copy = expression.clone();
        operands(&mut copy).into_iter().for_each(|operand| *operand = self.at(*operand));
        self.push(copy)
    }

    fn contract(&mut self, handle: Handle<Expression>, expression: &Expression) -> Option<Handle<Expression>> {
        let size = self.size(handle);
        match *expression {
            Expression::Binary { op: BinaryOperator::Add, left, right } => {
                let (product, other) =
                    self.product(right).map(|p| (p, left)).or_else(|| self.product(left).map(|p| (p, right)))?;
                let [a, b, c] = [product.0, product.1, other].map(|operand| self.spread(operand, size));
                Some(self.fused(a, b, c, size))
            }
            Expression::Binary { op: BinaryOperator::Subtract, left, right } => {
                let (product, other, is_first) = match self.product(left) {
                    Some(product) => (product, right, true),
                    None => (self.product(right)?, left, false),
                };
                let [a, b, c] = [product.0, product.1, other].map(|operand| self.spread(operand, size));
                let negate = |expr| Expression::Unary { op: UnaryOperator::Negate, expr };
                let negated = self.push(negate(if is_first { c } else { a }));
                Some(if is_first { self.fused(a, b, negated, size) } else { self.fused(negated, b, c, size) })
            }
            Expression::Math { fun: MathFunction::Dot, .. } => {
                let mut pairs = self.components(handle)?.into_iter();
                let (a, b) = pairs.next()?;
                let first = self.binary(BinaryOperator::Multiply, a, b);
                Some(pairs.fold(first, |sum, (a, b)| self.fused(a, b, sum, None)))
            }
            _ => None,
        }
    }

    /// The factors of a product.
    fn product(&self, old: Handle<Expression>) -> Option<(Handle<Expression>, Handle<Expression>)> {
        match self.old[old] {
            Expression::Binary { op: BinaryOperator::Multiply, left, right } => Some((left, right)),
            _ => None,
        }
    }

    fn binary(
        &mut self,
        op: BinaryOperator,
        left: Handle<Expression>,
        right: Handle<Expression>,
    ) -> Handle<Expression> {
        self.push(Expression::Binary { op, left, right })
    }

    /// a·b + c, the product replaced by its neighbour if f32 may not represent it.
    fn fused(
        &mut self,
        a: Handle<Expression>,
        b: Handle<Expression>,
        c: Handle<Expression>,
        size: Option<VectorSize>,
    ) -> Handle<Expression> {
        let rounded = self.binary(BinaryOperator::Multiply, a, b);
        let zeros = [a, b].map(|factor| self.trailing_zeros(factor, size));
        let (zeros, bits) = (self.binary(BinaryOperator::Add, zeros[0], zeros[1]), self.wide(self.bits, size));
        let is_exact = self.binary(BinaryOperator::GreaterEqual, zeros, bits);
        let (word, one) = (self.bitcast(rounded, ScalarKind::Uint), self.wide(self.one, size));
        let other = self.binary(BinaryOperator::ExclusiveOr, word, one);
        let reject = self.bitcast(other, ScalarKind::Float);
        let product = self.push(Expression::Select { condition: is_exact, accept: rounded, reject });
        self.binary(BinaryOperator::Add, product, c)
    }

    /// Trailing zeros of an f32's mantissa.
    fn trailing_zeros(&mut self, value: Handle<Expression>, size: Option<VectorSize>) -> Handle<Expression> {
        let (word, above) = (self.bitcast(value, ScalarKind::Uint), self.wide(self.above, size));
        let arg = self.binary(BinaryOperator::InclusiveOr, word, above);
        let fun = MathFunction::CountTrailingZeros;
        self.push(Expression::Math { fun, arg, arg1: None, arg2: None, arg3: None })
    }

    fn bitcast(&mut self, expr: Handle<Expression>, kind: ScalarKind) -> Handle<Expression> {
        self.push(Expression::As { expr, kind, convert: None })
    }

    /// A scalar, splatted if a vector is needed.
    fn wide(&mut self, value: Handle<Expression>, size: Option<VectorSize>) -> Handle<Expression> {
        size.map_or(value, |size| self.push(Expression::Splat { size, value }))
    }

    /// An operand, splatted if the others are vectors.
    fn spread(&mut self, old: Handle<Expression>, size: Option<VectorSize>) -> Handle<Expression> {
        let value = self.at(old);
        if self.size(old).is_none() { self.wide(value, size) } else { value }
    }

    /// The pairs of components that a dot product multiplies.
    fn components(&mut self, dot: Handle<Expression>) -> Option<Vec<(Handle<Expression>, Handle<Expression>)>> {
        let Expression::Math { fun: MathFunction::Dot, arg, arg1: Some(arg1), .. } = self.old[dot] else { return None };
        let count = self.size(arg)? as u32;
        let [a, b] = [arg, arg1].map(|vector| self.at(vector));
        let mut component = |base, index| self.push(Expression::AccessIndex { base, index });
        Some((0..count).map(|index| (component(a, index), component(b, index))).collect())
    }

    /// A sum of at least two terms, summed from the last to the first.
    fn reassociate(&mut self, handle: Handle<Expression>) -> Option<Handle<Expression>> {
        let size = self.size(handle);
        let mut terms = Vec::new();
        self.terms(handle, size, &mut terms);
        let last = terms.pop().filter(|_| !terms.is_empty())?;
        let add = |left, right| Expression::Binary { op: BinaryOperator::Add, left, right };
        Some(terms.into_iter().rev().fold(last, |sum, term| self.push(add(sum, term))))
    }

    fn terms(&mut self, old: Handle<Expression>, size: Option<VectorSize>, terms: &mut Vec<Handle<Expression>>) {
        if let Expression::Binary { op: BinaryOperator::Add, left, right } = self.old[old] {
            self.terms(left, size, terms);
            self.terms(right, size, terms);
        } else if let Some(pairs) = self.components(old) {
            let multiply = |(left, right)| Expression::Binary { op: BinaryOperator::Multiply, left, right };
            let products: Vec<_> = pairs.into_iter().map(|pair| self.push(multiply(pair))).collect();
            let whole = products.into_iter();
            match size {
                Some(size) => terms.extend(whole.map(|value| self.push(Expression::Splat { size, value }))),
                None => terms.extend(whole),
            }
        } else if self.places.len() > old.index() {
            let term = self.spread(old, size);
            terms.push(term);
        }
    }

    /// 0 if a value is denormal.
    fn flush(&mut self, old: Handle<Expression>, value: Handle<Expression>) -> Handle<Expression> {
        let [tiny, zero] = [self.tiny, self.zero].map(|literal| self.wide(literal, self.size(old)));
        let magnitude =
            self.push(Expression::Math { fun: MathFunction::Abs, arg: value, arg1: None, arg2: None, arg3: None });
        let condition = self.binary(BinaryOperator::Less, magnitude, tiny);
        self.push(Expression::Select { condition, accept: zero, reject: value })
    }

    fn block(&self, block: &mut Block) {
        for statement in block.iter_mut() {
            self.statement(statement);
        }
    }

    fn statement(&self, statement: &mut Statement) {
        let moved = |handle: &mut Handle<Expression>| *handle = self.at(*handle);
        match statement {
            Statement::Emit(range) => {
                if let Some((first, last)) = range.first_and_last() {
                    *range = Range::new_from_bounds(self.places[first.index()][0], self.at(last));
                }
            }
            Statement::Block(block) => self.block(block),
            Statement::If { condition, accept, reject } => {
                moved(condition);
                self.block(accept);
                self.block(reject);
            }
            Statement::Switch { selector, cases } => {
                moved(selector);
                cases.iter_mut().for_each(|case| self.block(&mut case.body));
            }
            Statement::Loop { body, continuing, break_if } => {
                self.block(body);
                self.block(continuing);
                break_if.iter_mut().for_each(moved);
            }
            Statement::Return { value } => value.iter_mut().for_each(moved),
            Statement::Store { pointer, value } => [pointer, value].into_iter().for_each(moved),
            Statement::Atomic { pointer, value, result, .. } => {
                [pointer, value].into_iter().chain(result).for_each(moved);
            }
            Statement::Call { arguments, result, .. } => arguments.iter_mut().chain(result).for_each(moved),
            Statement::Break | Statement::Continue | Statement::ControlBarrier(_) => {}
            other => panic!("kernels of second moments have no {other:?}"),
        }
    }
}

fn literal(expressions: &mut Arena<Expression>, value: Literal) -> Handle<Expression> {
    expressions.append(Expression::Literal(value), Span::default())
}

/// The operands of an expression.
fn operands(expression: &mut Expression) -> Vec<&mut Handle<Expression>> {
    match expression {
        Expression::Compose { components, .. } => components.iter_mut().collect(),
        Expression::Access { base, index } => vec![base, index],
        Expression::AccessIndex { base, .. } => vec![base],
        Expression::Splat { value, .. } => vec![value],
        Expression::Swizzle { vector, .. } => vec![vector],
        Expression::Load { pointer } | Expression::ArrayLength(pointer) => vec![pointer],
        Expression::Unary { expr, .. } | Expression::As { expr, .. } => vec![expr],
        Expression::Binary { left, right, .. } => vec![left, right],
        Expression::Select { condition, accept, reject } => vec![condition, accept, reject],
        Expression::Relational { argument, .. } => vec![argument],
        Expression::Math { arg, arg1, arg2, arg3, .. } => {
            [Some(arg), arg1.as_mut(), arg2.as_mut(), arg3.as_mut()].into_iter().flatten().collect()
        }
        Expression::Literal(_)
        | Expression::Constant(_)
        | Expression::ZeroValue(_)
        | Expression::FunctionArgument(_)
        | Expression::GlobalVariable(_)
        | Expression::LocalVariable(_)
        | Expression::CallResult(_)
        | Expression::AtomicResult { .. } => Vec::new(),
        other => panic!("kernels of second moments have no {other:?}"),
    }
}
