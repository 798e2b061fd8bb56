# frozen_string_literal: true

module PlantedLibrary
  # Cannot be loaded before the library itself.
  class Base
    VERSION = PlantedLibrary.version

    def self.validate = true
  end
end
