# frozen_string_literal: true

require "fileutils"
require "open3"
require "rbconfig"
require_relative "../errors"

module Tiercel
  module Lab
    module Tables
      # Builds the C extensions of a copied tree into the tree's `lib/`, as RubyGems does for a gem.
      class Extensions
        # Variables of the lab's own bundle, which commands of a tree must not inherit.
        OWN = { "RUBYOPT" => nil, "RUBYLIB" => nil, "MAKEFLAGS" => nil, "BUNDLER_SETUP" => nil }.freeze

        # @param folder [String] folder of the tree
        def initialize(folder)
          @folder = folder
        end

        def any? = sources.any?

        def built? = sources.all? { |source| File.exist?(mark(source)) }

        # @raise [CannotRun]
        def build
          library = File.join(@folder, "lib")
          sources.each do |source|
            target = File.dirname(mark(source))
            FileUtils.mkdir_p(target)
            Extensions.run(RbConfig.ruby, source, folder: target)
            Extensions.run("make", "install", "sitearchdir=#{library}", "sitelibdir=#{library}", folder: target)
            FileUtils.touch(mark(source))
          end
        end

        # Runs a command of a tree, without the lab's own bundle.
        #
        # @param variables [Hash{String => String}] further ones
        # @raise [CannotRun]
        def self.run(*command, folder:, variables: {})
          said, status = Open3.capture2e(OWN.merge(variables), *command, chdir: folder)
          raise CannotRun, "#{command.join(" ")} failed: #{said.lines.last(3).join.strip}" unless status.success?
        end

        private

        def sources
          Dir.glob(File.join(@folder, "ext/**/extconf.rb")).select { |path| Dir.children(File.dirname(path)).size > 1 }
        end

        def mark(source) = File.join(@folder, "tmp", "lab", File.basename(File.dirname(source)), "built")
      end
    end
  end
end
