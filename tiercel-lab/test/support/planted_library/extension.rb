# frozen_string_literal: true

module PlantedLibrary
  # Reopens a class. If this file is loaded alone, the class stays without its own file.
  class Base
    def self.extension = true
  end
end
