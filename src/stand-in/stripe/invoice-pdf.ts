import { formatMoney } from "../../wording.js";
import { amountDue } from "./invoice-object.js";
import type { InvoiceRecord } from "./state.js";

/** The smallest file that programs show as a PDF: one line of text on a page. */
export function invoicePdf(invoice: InvoiceRecord): Buffer {
  // The font of the file has no signs of currencies.
  const digits = formatMoney(amountDue(invoice), invoice.currency).replaceAll(/[^\d.,-]/g, "");
  const line = `Invoice ${invoice.number}: ${digits} ${invoice.currency}`;
  const text = `BT /F1 14 Tf 40 160 Td (${line}) Tj ET`;
  const objects = [
    "<< /Type /Catalog /Pages 2 0 R >>",
    "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
    "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 420 200] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
    `<< /Length ${text.length} >>\nstream\n${text}\nendstream`,
    "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
  ].map((object, index) => `${index + 1} 0 obj\n${object}\nendobj\n`);
  return Buffer.from(["%PDF-1.4\n", ...objects, "trailer << /Root 1 0 R /Size 6 >>\n%%EOF\n"].join(""), "latin1");
}
