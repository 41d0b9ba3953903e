import { type Result, median, ratios } from "./measure.js";
import { type Report, titleOf } from "./report.js";

/** In units that are pixels on a phone, on which the chart must be readable. */
const WIDTH = 390;
const LEFT = 12;
const BARS_LEFT = 172;
const LABEL_WIDTH = 40;
const ROW = 19;
const BAR = 12;
const HEADING = 30;
const TOP = 56;

const STYLE = `
    .page { fill: #ffffff } text { fill: #1f2328; font: 12px system-ui, sans-serif } .title { font-size: 14px }
    .title, .case, .service { font-weight: 600 } .bar { fill: #afb8c1 } .bar.service { fill: #0969da }
    @media (prefers-color-scheme: dark) {
      .page { fill: #0d1117 } text { fill: #e6edf3 } .bar { fill: #57606a } .bar.service { fill: #4493f8 }
    }`;

const CASES: Readonly<Record<string, string>> = {
  "graphql-get": "Read a memory",
  "graphql-related": "Related memories",
  "graphql-search": "Search",
  "graphql-nested": "Nested query, three levels",
  "graphql-create": "Store a memory",
};

/** Each server's GraphQL speed as a share of the floor's: bars that are readable in light and dark. */
export function chartOf({ results, plan }: Report): string {
  const shown = results.filter(({ name }) => CASES[name] !== undefined);
  const longest = Math.max(...shown.flatMap((result) => barsOf(result).map(({ share }) => share)));
  const lines: string[] = [];
  let y = TOP;
  for (const result of shown) {
    lines.push(`<text class="case" x="${LEFT}" y="${y + 12}">${CASES[result.name]}</text>`);
    y += HEADING - 8;
    for (const { name, share } of barsOf(result)) {
      const kind = name === "service" ? " service" : "";
      const width = Math.round(((WIDTH - LEFT - LABEL_WIDTH - BARS_LEFT) * share) / longest);
      lines.push(
        `<text class="name${kind}" x="${LEFT}" y="${y + 10}">${titleOf(name)}</text>`,
        `<rect class="bar${kind}" x="${BARS_LEFT}" y="${y}" width="${width}" height="${BAR}" rx="2"/>`,
        `<text class="value${kind}" x="${BARS_LEFT + width + 6}" y="${y + 10}">${share.toFixed(2)}</text>`,
      );
      y += ROW;
    }
    y += 8;
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y + 4}" width="${WIDTH}" height="${y + 4}" role="img"
  aria-label="GraphQL requests per second of each server, as a share of a server written by hand">
  <style>${STYLE}
  </style>
  <rect class="page" width="${WIDTH}" height="${y + 4}" rx="6"/>
  <text class="title" x="${LEFT}" y="24">GraphQL requests per second</text>
  <text x="${LEFT}" y="42">as a share of a server written by hand; median of ${plan.rounds} rounds</text>
  ${lines.join("\n  ")}
</svg>
`;
}

/** The fastest first. */
function barsOf({ servers }: Result): Array<{ readonly name: string; readonly share: number }> {
  const { floor } = servers;
  if (!floor) return [];
  return Object.entries(servers)
    .map(([name, figures]) => ({ name, share: median(ratios(figures, floor)) }))
    .sort((one, other) => other.share - one.share);
}
