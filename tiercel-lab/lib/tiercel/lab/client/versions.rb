# frozen_string_literal: true

module Tiercel
  module Lab
    module Client
      # Which gems a bundle has, asked in a process of it.
      class Versions
        # @return [Hash{String => String}]
        def gems = Gem.loaded_specs.transform_values { |spec| spec.version.to_s }
      end
    end
  end
end
