import { InvalidInput } from "../operation/failure.js";
import { LIMITS } from "../limits.js";

const [QUOTE, BACKSLASH, COLON, COMMA] = [34, 92, 58, 44];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [91, 93, 123, 125];

/**
 * Looks at JSON before it is parsed: how deep it is, how many values it has and how long its names are. One pass over
 * the bytes without memory of its own, about 4 ms for 1 MiB. Whether it is JSON at all is for the parser to say.
 * @throws InvalidInput naming the bound that it exceeds.
 */
export function assertJsonFits(bytes: Uint8Array): void {
  const { depth: depthMax, values: valuesMax, nameBytes } = LIMITS.json;
  let [depth, values, textStart, textLength] = [0, 1, -1, 0];
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (textStart >= 0) {
      if (byte === BACKSLASH) at++;
      else if (byte === QUOTE) [textLength, textStart] = [at - textStart - 1, -1];
    } else if (byte === QUOTE) textStart = at;
    else if (byte === COMMA) values++;
    else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth--;
    else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      depth++;
      values++;
      if (depth > depthMax)
        throw refusal(`The JSON is nested deeper than ${depthMax} levels. Send it with fewer levels.`);
    } else if (byte === COLON && textLength > nameBytes) {
      throw refusal(
        `A name in the JSON is longer than ${nameBytes.toLocaleString("en")} bytes. Use the documented names.`,
      );
    }
    if (values > valuesMax) {
      throw refusal(`The JSON has more than ${valuesMax.toLocaleString("en")} values. Send it in several requests.`);
    }
  }
}

const refusal = (message: string): InvalidInput => new InvalidInput([{ path: "", message }]);
