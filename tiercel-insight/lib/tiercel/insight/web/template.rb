# frozen_string_literal: true

require "erb"
require "active_support"
require "active_support/core_ext/string/output_safety"

# An ERB template that escapes the values of `<%= %>`, unless they are an ActiveSupport::SafeBuffer.
#
# @private
class Tiercel::Insight::Web::Template < ERB
  FOLDER = ::File.expand_path("templates", __dir__)

  # Defines a method that renders templates/NAME.erb.
  #
  # @param target [Class]
  # @param method_name [Symbol]
  # @param name [String]
  # @param arguments [Array<String>] the method's parameters
  # @return [void]
  def self.define(target, method_name, name, *arguments)
    path = ::File.join(FOLDER, "#{name}.erb")
    source = new(::File.read(path, encoding: Encoding::UTF_8), trim_mode: "-").src.dup
    source.force_encoding(Encoding::UTF_8) # the encoding of its magic comment; newer ERB versions freeze it
    # Evaluated here so that templates see the constants of Tiercel and Web.
    target.class_eval("def #{method_name}(#{arguments.join(", ")})\n#{source}\nend", path, -1)
  end

  # See ERB#set_eoutvar.
  def set_eoutvar(compiler, output = "_erbout")
    compiler.put_cmd = "#{output}.safe_concat"
    compiler.insert_cmd = "#{output}.concat"
    compiler.pre_cmd = ["#{output} = ::ActiveSupport::SafeBuffer.new"]
    compiler.post_cmd = [output]
  end
end
