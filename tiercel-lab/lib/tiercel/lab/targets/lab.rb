# frozen_string_literal: true

module Tiercel
  module Lab
    # What the lab asks of itself.
    module Targets
      floor "lab-3", "the lab's own noise floor, in-process, a full run on a quiet machine: within 3 %",
            value: "html-2kb", baseline: %w[memory_store read], at_most: 0.03
      elsewhere "lab-1", "a quick run takes at most 3 minutes, and no row says that it could not run",
                command: "bin/lab --quick"
      elsewhere "lab-planted", "contestants that return wrong values, that miss, and that are slower are found",
                command: "bin/test lab"
    end
  end
end
