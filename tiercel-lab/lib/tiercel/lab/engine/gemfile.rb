# frozen_string_literal: true

require "digest"
require "fileutils"
require_relative "bundle"

module Tiercel
  module Lab
    module Engine
      # Writes gemfiles that change one gem and keep the lab's versions of all others.
      class Gemfile
        # @return [String] the folder of the written files
        def self.folder = UserFolders.cache("gemfiles")

        # @param base [String, nil] path of a gemfile to change; nil: the gems of this process
        # @param name [String] name of the gem that differs
        # @param source [String] the rest of the gem's line ('"= 5.0.2"')
        def initialize(base:, name:, source:)
          @base = base
          @name = name
          @source = source
        end

        # A contestant's bundle with one gem changed.
        #
        # @param bundle [String, nil] see {Contestant}; nil: the gems of this process
        def self.based_on(bundle, name:, source:)
          base = bundle && (File.absolute_path?(bundle) ? bundle : File.join(Bundle::FOLDER, "#{bundle}.gemfile"))
          new(base:, name:, source:)
        end

        # @param label [String] label of the file
        # @return [String] its path
        def write(label)
          path = File.join(Gemfile.folder,
                           "#{label.gsub(/[^\w.-]/, "_")}-#{Digest::SHA256.hexdigest(text)[0, 8]}.gemfile")
          FileUtils.mkdir_p(Gemfile.folder)
          File.write(path, text) unless File.exist?(path) && File.read(path) == text
          path
        end

        # @return [String]
        def text = @text ||= @base ? changed(File.read(@base)) : own

        private

        def changed(text)
          line = /^gem "#{Regexp.escape(@name)}".*$/
          text.match?(line) ? text.sub(line, gem_line) : "#{text}\n#{gem_line}\n"
        end

        def own
          ["# frozen_string_literal: true", "", "Gem.sources.each { |registry| source registry }", "",
           *held.reject { |spec| spec.name == @name }.map { |spec| held_line(spec) }, gem_line, ""].join("\n")
        end

        def gem_line = "gem #{@name.inspect}, #{@source}"

        # Only gems that the bundle names: Bundler resolves their dependencies, so the changed gem may bring other
        # versions.
        def held
          bundled = defined?(Bundler) && Bundler.respond_to?(:definition)
          names = bundled ? Bundler.definition.dependencies.map(&:name) : Gem.loaded_specs.keys
          specs = Gem.loaded_specs.values_at(*names).compact
          specs.reject { |spec| spec.default_gem? || spec.name == "tiercel-lab" }.sort_by(&:name)
        end

        def held_line(spec)
          path = spec.respond_to?(:source) && spec.source.respond_to?(:path) ? spec.full_gem_path : nil
          path ? "gem #{spec.name.inspect}, path: #{path.inspect}" : "gem #{spec.name.inspect}, \"= #{spec.version}\""
        end
      end
    end
  end
end
