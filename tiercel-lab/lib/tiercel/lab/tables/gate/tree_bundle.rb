# frozen_string_literal: true

require_relative "../../engine/bundle"

module Tiercel
  module Lab
    module Tables
      module Gate
        # The bundle of a tree: the tree's Gemfile, or the lab's bundle if the tree has none.
        class TreeBundle < Engine::Bundle
          # @return [String] working directory of its processes
          attr_reader :directory

          # @param directory [String] directory of the tree
          # @param variables [Hash{String => String}] further ones
          # @param libraries [Array<String>] folders to require from that the tree's own gems need not have
          def initialize(directory, variables: {}, libraries: [])
            super(File.exist?(File.join(directory, "Gemfile")) ? directory : nil)
            @directory = directory
            @variables = variables
            @libraries = libraries
          end

          # @return [TreeBundle] a copy, whose contestants get a process of their own
          def with(libraries: @libraries) = TreeBundle.new(directory, variables: @variables, libraries:)

          def environment
            own = name ? { "BUNDLE_GEMFILE" => gemfile, "RUBYOPT" => "-rbundler/setup", **bundler_settings } : {}
            super.merge(own, "RUBYLIB" => libraries.join(File::PATH_SEPARATOR), **@variables)
          end

          # @raise [CannotRun]
          def install(progress: nil)
            return if name.nil? || @installed || (@installed = installed?)
            progress&.say("installing the gems of #{File.basename(directory)}")
            log = File.join(directory, "tmp", "tiercel-lab-install.log")
            FileUtils.mkdir_p(File.dirname(log))
            return @installed = true if Engine::Program.run(clean_environment, bundler, "install", "--quiet",
                                                            chdir: directory, out: log, err: log)
            raise CannotRun, "the gems of #{directory} could not be installed " \
                             "(#{File.readlines(log).last.to_s.strip}); see #{log}"
          end

          def installed?
            return true unless name
            system(clean_environment, bundler, "check", chdir: directory, in: File::NULL, out: File::NULL,
                                                        err: File::NULL)
          end

          def to_s = directory

          private

          def gemfile = File.join(directory, "Gemfile")

          # The load path begins with the gem's own files.
          def libraries
            own = Dir.glob("*.gemspec", base: directory).any? ? [File.join(directory, "lib")] : []
            own + @libraries
          end

          def clean_environment = super.merge(bundler_settings)

          # A checkout with a gem folder of its own (BUNDLE_PATH, as in CI) shares the folder with its trees. Bundler
          # may add entries to a lock file there.
          def bundler_settings
            path = defined?(Bundler) && Bundler.settings[:path]
            root = defined?(Bundler) && Bundler.respond_to?(:root) ? Bundler.root.to_s : Dir.pwd
            settings = { "BUNDLE_FROZEN" => "false", "BUNDLE_DEPLOYMENT" => "false" }
            path ? settings.merge("BUNDLE_PATH" => File.expand_path(path, root)) : settings
          rescue StandardError # a Gemfile of the lab's own process may be nowhere
            { "BUNDLE_FROZEN" => "false", "BUNDLE_DEPLOYMENT" => "false" }
          end
        end
      end
    end
  end
end
