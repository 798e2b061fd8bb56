# frozen_string_literal: true

module Tiercel
  module Lab
    # Declares the files of the tables' folders: a constant loads its file on first use.
    module Tables
      # Constants whose files other code loads by path.
      LOADED_BY_PATH = %w[Table Stores Operations Process].freeze

      Dir.glob("*/*.rb", base: __dir__).each do |file|
        folder, part = file.delete_suffix(".rb").split("/").map { |name| name.split("_").map(&:capitalize).join }
        next if LOADED_BY_PATH.include?(part)
        table = const_defined?(folder, false) ? const_get(folder, false) : const_set(folder, Module.new)
        table.autoload(part, File.join(__dir__, file))
      end
    end
  end
end
