# frozen_string_literal: true

# Loads its parts on first use.
module PlantedLibrary
  autoload :Base, File.expand_path("planted_library/base", __dir__)

  def self.version = 1
end
