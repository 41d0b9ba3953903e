/** Combines decorators into one, with the same effect as writing them above a field in this order. */
export const combine =
  (...decorators: readonly PropertyDecorator[]): PropertyDecorator =>
  (target, property) => {
    for (const decorate of decorators.toReversed()) decorate(target, property);
  };
