// On a narrow screen the tabs scroll: bring the current one into view.
document.querySelector('.tabs [aria-current="page"]')?.scrollIntoView({ inline: "center", block: "nearest" });
