/** One decorator that does what these do in a column above a field. */
export const combine =
  (...decorators: readonly PropertyDecorator[]): PropertyDecorator =>
  (target, property) => {
    for (const decorate of decorators.toReversed()) decorate(target, property);
  };
