
"use strict";
for (const button of document.querySelectorAll("button[data-csv]")) {
  const label = button.textContent;
  button.hidden = false;
  button.addEventListener("click", async () => {
    const copied = await copy(JSON.parse(button.dataset.csv));
    button.textContent = copied ? "Copied" : "Copy failed";
    setTimeout(() => { button.textContent = label; }, 2000);
  });
}

// Copies without the Clipboard API, which browsers only provide in secure contexts.
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.body.appendChild(document.createElement("textarea"));
    area.value = text;
    area.select();
    const copied = document.execCommand("copy");
    area.remove();
    return copied;
  }
}

// Marks the visible section in the navigation; a page of one report has no navigation.
const nav = document.querySelector("nav");
const watch = new IntersectionObserver((entries) => {
  for (const { target } of entries.filter((entry) => entry.isIntersecting)) {
    for (const link of nav.querySelectorAll("a")) {
      if (link.hash !== "#" + target.id) {
        link.removeAttribute("aria-current");
        continue;
      }
      link.setAttribute("aria-current", "true");
      nav.scrollTo(link.offsetLeft - 40, link.offsetTop - 200);
    }
  }
}, { rootMargin: "-20% 0px -75% 0px" });
if (nav) for (const section of document.querySelectorAll("section")) watch.observe(section);
