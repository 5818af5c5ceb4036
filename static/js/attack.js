// A slider in the place of the steps, which it moves.
(() => {
  const slider = document.querySelector(".attack input[type=range]");
  if (!slider) return;
  const steps = [...document.querySelectorAll(".attack input[type=radio]")];
  const move = () => {
    steps[slider.value].checked = true;
    slider.setAttribute("aria-valuetext", `${steps[slider.value].value} files`);
  };
  slider.hidden = false;
  slider.closest("fieldset").classList.add("slides");
  slider.addEventListener("input", move);
  move();
})();
